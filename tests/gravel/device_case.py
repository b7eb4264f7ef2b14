"""What the library does with a graph on a GPU: tests that an emulated one runs too. CuPy is the caller's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import gravel
from gravel.conversion import columns as conversion
from gravel.graphs import measured_rows
from gravel.kernels.buffers import total
from gravel.kernels.distances.buffers import on_device
from gravel.kernels.layouts.layout import body_name
from gravel.stages.measuring.rows import FEWEST, sizes_of
from tests.gravel.samples import Ends

FAR = 1_000_003
"""Between ids that are far apart."""


class Case:
    """Edges with what the CPU finds in them."""

    def __init__(self, ends: Ends, folder: Path) -> None:
        self.ends = ends
        self.source = int(ends[0][0])
        self.folder = folder
        self.cpu = gravel.graph(ends, backend="cpu")
        self._distance = self.cpu.bfs(self.source).distance.to_numpy()
        self._component = self.cpu.components().component.to_numpy()

    def uploaded(self, dtype: Any = numpy.int64, times: int = 1) -> tuple[Any, Any]:
        import cupy

        first, second = (cupy.asarray((each * times).astype(dtype)) for each in self.ends)
        return first, second

    def graph(self, **options: Any) -> gravel.Graph:
        made = gravel.graph(self.uploaded(), **options)
        assert made.info().memory == "GPU memory"
        return made

    def check(self, graph: gravel.Graph, source: Any = None, *, on_device: bool = True) -> None:
        """A graph has the distances, predecessors and components that the CPU finds."""
        search = graph.bfs(self.source if source is None else source)
        distance = self._distance
        numpy.testing.assert_array_equal(search.distance.to_numpy(), distance)
        before = search.predecessor.array
        before = before.get() if hasattr(before, "get") else before
        later = distance > 0
        numpy.testing.assert_array_equal(distance[before[later]], distance[later] - 1)
        assert (before[~later] < 0).all()
        for labels in (search.distance, search.predecessor):
            assert is_on_device(labels.array) == on_device
        assert is_on_device(search.distance.to_cupy())
        if on_device:
            # As it is: not by way of the host.
            assert search.distance.to_cupy() is search.distance.array


def is_on_device(array: Any) -> bool:
    return isinstance(array, sys.modules["cupy"].ndarray)


def _dense(case: Case) -> None:
    case.check(case.graph())


def _from_the_host(case: Case) -> None:
    graph = gravel.graph(case.ends, backend="cuda")
    assert graph.info().memory == "GPU memory"
    case.check(graph)


def _unsigned(case: Case) -> None:
    case.check(gravel.graph(case.uploaded(numpy.uint32)))


def _far_apart(case: Case) -> None:
    graph = gravel.graph(case.uploaded(times=FAR))
    case.check(graph, case.source * FAR)
    found = graph.bfs(case.source * FAR).predecessor.to_cupy()
    assert is_on_device(found)
    expected = graph.place("host").bfs(case.source * FAR).predecessor.to_numpy()
    assert set(numpy.unique(found.get() % FAR)) <= {0, FAR - 1}
    assert ((found.get() < 0) == (expected < 0)).all()


def _strings(case: Case) -> None:
    names = numpy.array([f"user-{number:06}" for number in range(1 + int(max(map(numpy.max, case.ends))))])
    graph = gravel.graph((names[case.ends[0]], names[case.ends[1]]), backend="cuda")
    assert graph.info().ids == "strings"
    case.check(graph, str(names[case.source]))
    assert graph.bfs(str(names[case.source])).path_to(str(names[case.source])) == [names[case.source]]


def _numbered_there(case: Case) -> None:
    """Ids that take a table are numbered on the device, as the host numbers them."""
    numbered, made = conversion.numbered, []
    negative = [each * FAR - 5 for each in case.ends]
    for ends in (
        [[f"user-{number}" for number in each] for each in case.ends],
        [each * FAR**2 for each in case.ends],
        [numpy.array([number * b"." for number in each % 40]) for each in case.ends],
        negative,
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(conversion, "LEAST_ON_DEVICE", 1)
            patch.setattr(conversion, "numbered", lambda *a, **k: made.append(numbered(*a, **k)) or made[-1])
            graph = gravel.graph(tuple(ends), backend="cuda")
        assert is_on_device(made[-1].source) == (ends is not negative)
        expected = gravel.graph(tuple(ends), backend="cpu")
        assert graph.vertices.equals(expected.vertices)
        source = graph.vertices[3].as_py()
        numpy.testing.assert_array_equal(
            graph.bfs(source).distance.to_numpy(), expected.bfs(source).distance.to_numpy()
        )


def _components(case: Case) -> None:
    found = case.graph().components()
    expected = case.cpu.components()
    numpy.testing.assert_array_equal(found.component.to_numpy(), expected.component.to_numpy())
    assert is_on_device(found.component.array)
    assert is_on_device(found.component.to_cupy())
    assert found.sizes.tolist() == expected.sizes.tolist()
    assert found.of(case.source).equals(expected.of(case.source))
    assert found.largest.equals(expected.largest)
    assert repr(found).startswith(f"<gravel.Components: {expected.count:,} of")
    assert ("<svg" in found._repr_html_()) == (expected.count > 1)


def _results(case: Case) -> None:
    found, expected = case.graph().bfs(case.source), case.cpu.bfs(case.source)
    assert found.levels == expected.levels
    assert (found.depth, found.reached) == (expected.depth, expected.reached)
    far = int(found.to_pandas()["vertex"][int(numpy.argmax(found.distance.to_numpy()))])
    path = found.path_to(far)
    assert path is not None
    assert (path[0], path[-1], len(path)) == (case.source, far, expected.depth + 1)
    assert found.distance[far] == expected.depth
    assert found.predecessor[far] == path[-2]
    assert found.to_arrow()["distance"].equals(expected.to_arrow()["distance"])
    numpy.testing.assert_array_equal(numpy.asarray(found.distance), expected.distance.to_numpy())
    assert all(map(is_on_device, found.to_cupy().values()))
    assert "<svg" in found._repr_html_()
    for output in ("distance", "predecessor"):
        assert case.graph().bfs(case.source, output).reached == expected.reached


def _directed(case: Case) -> None:
    device, host = (gravel.graph(each, directed=True) for each in (case.uploaded(), case.ends))
    for graph in (device, device.reorder("degree")):
        for direction in ("out", "in", "both"):
            for depth in (None, 2):
                found, expected = (
                    each.bfs(case.source, direction=direction, max_depth=depth).distance.to_numpy()
                    for each in (graph, host)
                )
                numpy.testing.assert_array_equal(found, expected)
    assert device.components().sizes.tolist() == host.components().sizes.tolist()


def _directed_measures(case: Case) -> None:
    device, host = (gravel.graph(each, directed=True) for each in (case.uploaded(), case.ends))
    few = [case.source, int(case.ends[0][1])]
    for graph in (device, device.reorder("degree")):
        for direction in ("out", "in", "both"):
            for measure in ("closeness", "harmonic", "eccentricity"):
                found, expected = (
                    getattr(each, measure)(few, direction=direction).values for each in (graph, host)
                )
                numpy.testing.assert_allclose(found, expected, rtol=1e-12)
            found, expected = (
                each.betweenness(8, seed=1, direction=direction).values for each in (graph, host)
            )
            numpy.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-15)


def _searches_that_follow(case: Case) -> None:
    """A search takes the workspace of the one before, whose labels stay what they are."""
    for graph in (case.graph(), case.graph().reorder("degree")):
        first = graph.bfs(case.source)
        other = graph.bfs(int(case.ends[0][1]))
        numpy.testing.assert_array_equal(
            first.distance.to_numpy(), case.cpu.bfs(case.source).distance.to_numpy()
        )
        expected = case.cpu.bfs(int(case.ends[0][1])).distance.to_numpy()
        numpy.testing.assert_array_equal(other.distance.to_numpy(), expected)


def _saved(case: Case) -> None:
    for name, graph in (("plain", case.graph()), ("ordered", case.graph().reorder("rcm"))):
        loaded = gravel.load(graph.save(case.folder / name))
        numpy.testing.assert_array_equal(
            loaded.bfs(case.source).distance.to_numpy(), graph.bfs(case.source).distance.to_numpy()
        )


def _placed(where: Any, **limits: Any) -> Callable[[Case], None]:
    def check(case: Case) -> None:
        for graph in (case.graph(), case.graph().reorder("degree")):
            placed = graph.place(where, **limits)
            case.check(placed, on_device=where != "host")
            found = placed.components().component.to_numpy()
            numpy.testing.assert_array_equal(found, case.cpu.components().component.to_numpy())

    return check


def _measured_rows_are_kept(case: Case) -> None:
    graph = case.graph()
    size = measured_rows.KEPT_SHARE * sizes_of(graph._rows.stored).decoded
    for limit, kept in ((size, True), (size - 1, False)):
        placed = graph.place("device", device_memory=limit)
        first, again = (measured_rows.plain_rows(placed._rows, "closeness")[0] for _ in range(2))
        assert is_on_device(first[1])
        assert (first is again) == kept
        assert placed.diameter() == placed.diameter() == case.cpu.diameter()
        ready = placed._rows.prepared.get(measured_rows.KEPT)
        assert bool(ready and ready.searches) == kept


def _measured_over_the_link(case: Case) -> None:
    for graph in (case.graph(), case.graph().reorder("degree"), case.graph().compress("varint")):
        stored: Any = graph._rows.stored
        n, m = stored.vertex_count, stored.arc_count
        rows = 8 * (n + 1) + 4 * m
        batch = total(on_device(n, m, 4, FEWEST))
        encoded = sizes_of(stored).encoded
        limit = rows + max(encoded, batch)
        small, large = (graph.place("auto", device_memory=limit - less) for less in (1, 0))
        pinned, streamed = graph.place("pinned"), graph.place("streamed")
        split = graph.place("split", device_memory=limit - 1)
        for placed, where in ((small, "split"), (pinned, "pinned"), (split, "split"), (streamed, "streamed")):
            there = measured_rows.searched_rows(placed._rows, "closeness")
            beginnings = 8 * (n + 1)
            if not (placed is small and encoded):
                assert placed._rows.machine.device_memory - there.memory == beginnings
                assert there.split == (where == "split")
            assert is_on_device(there.rows.arrays[body_name(there.rows)]) == (where != "streamed")
            for measure in ("closeness", "harmonic", "eccentricity", "neighbourhood"):
                asked = {"hops": 2} if measure == "neighbourhood" else {}
                found, expected = (getattr(each, measure)(**asked).values for each in (placed, case.cpu))
                numpy.testing.assert_allclose(found, expected, rtol=1e-12)
            assert placed.diameter() == case.cpu.diameter()
            assert placed.average_path_length().value == case.cpu.average_path_length().value
        there = measured_rows.searched_rows(large._rows, "closeness")
        assert large._rows.machine.device_memory - there.memory == rows
        for placed in (pinned, split, streamed):
            with pytest.raises(
                ValueError, match=f"GPU memory or on the CPU, and these are {placed._rows.placement}"
            ):
                placed.betweenness(4)


def _measured_encoded(layout: str) -> Callable[[Case], None]:
    """Rows are searched encoded where they fit into GPU memory so, and not decoded."""

    def check(case: Case) -> None:
        for graph in (case.graph().compress(layout), case.graph().reorder("degree").compress(layout)):
            stored: Any = graph._rows.stored
            n, m = stored.vertex_count, stored.arc_count
            encoded = sizes_of(stored).encoded
            least = encoded + total(on_device(n, m, 4, FEWEST, stream=len(stored.stream)))
            decoded = 8 * (n + 1) + 4 * m + total(on_device(n, m, 4, FEWEST))
            assert least < decoded
            for where, memory, read in (
                ("auto", least - 1, layout),
                ("auto", least, layout),
                ("auto", decoded - 1, layout),
                ("auto", decoded, "csr"),
                ("device", least, layout),
                ("device", decoded, "csr"),
            ):
                placed = graph.place(where, device_memory=memory)
                there = measured_rows.searched_rows(placed._rows, "closeness")
                assert there.rows.layout == read
                assert read == "csr" or there.memory in (memory - encoded, memory - 8 * (n + 1))
                assert there.split == (memory < least)
            only = graph.place("auto", device_memory=least)
            few = sorted({int(end) for end in case.ends[0][:9]})
            for measure, asked in (
                ("closeness", {}),
                ("harmonic", {}),
                ("eccentricity", {"vertices": few}),
                ("neighbourhood", {"hops": 2}),
            ):
                found, expected = (getattr(each, measure)(**asked).values for each in (only, case.cpu))
                numpy.testing.assert_allclose(found, expected, rtol=1e-12)
            numpy.testing.assert_array_equal(
                graph.distances(few[:5], few[3:]).array, case.cpu.distances(few[:5], few[3:]).array
            )
            parts = graph.place("streamed")
            numpy.testing.assert_array_equal(
                parts.bfs(few[0]).distance.to_numpy(), case.cpu.bfs(few[0]).distance.to_numpy()
            )
            assert only.average_path_length().value == case.cpu.average_path_length().value
            assert only.diameter() == case.cpu.diameter()

    return check


def _compressed(layout: str) -> Callable[[Case], None]:
    def check(case: Case) -> None:
        for graph in (case.graph(), case.graph().reorder("degree")):
            packed = graph.compress(layout)
            assert packed.info().layout in (layout, "csr", "varint", "blocks", "elias_fano")
            case.check(packed)
            found = packed.components().component.to_numpy()
            numpy.testing.assert_array_equal(found, case.cpu.components().component.to_numpy())

    return check


def _reordered(method: str) -> Callable[[Case], None]:
    def check(case: Case) -> None:
        graph = case.graph().reorder(method)
        assert method in (graph.info().order, "auto")
        assert is_on_device(graph._rows.stored.column_indices)
        case.check(graph)
        again = graph.reorder("random", seed=3)
        assert is_on_device(graph._rows.in_order_of_ids().column_indices)
        assert (
            again._rows.in_order_of_ids().row_offsets.get().tolist()
            == case.cpu._rows.stored.row_offsets.tolist()
        )
        case.check(again)
        numpy.testing.assert_array_equal(
            graph.components().component.to_numpy(), case.cpu.components().component.to_numpy()
        )
        # The same order as on the CPU: stages promise equal results.
        if method != "auto":
            expected = case.cpu.reorder(method)._rows.stored
            numpy.testing.assert_array_equal(graph._rows.stored.permutation, expected.permutation)
            numpy.testing.assert_array_equal(graph._rows.stored.column_indices.get(), expected.column_indices)
            numpy.testing.assert_array_equal(graph._rows.stored.row_offsets.get(), expected.row_offsets)

    return check


def _strong(case: Case) -> None:
    there = case.graph(directed=True)
    found = there.components(connection="strong")
    expected = gravel.graph(case.ends, directed=True, backend="cpu").components(connection="strong")
    assert (found.strategy, expected.strategy) == ("forward_backward", "tarjan")
    numpy.testing.assert_array_equal(found.component.to_numpy(), expected.component.to_numpy())
    assert is_on_device(found.component.array)
    there = there.reorder("degree")
    found = there.components(connection="strong")
    numpy.testing.assert_array_equal(found.component.to_numpy(), expected.component.to_numpy())


ORDERS = (
    *("original", "random", "degree", "hub_sort", "hub_cluster", "degree_groups"),
    *("rcm", "rcm_by_degree", "community", "community_rcm", "auto"),
)
LAYOUTS = ("varint", "blocks", "elias_fano", "csr", "auto")

CASES: dict[str, Callable[[Case], None]] = {
    "dense ids": _dense,
    "ids from the host": _from_the_host,
    "unsigned ids": _unsigned,
    "ids far apart": _far_apart,
    "strings": _strings,
    "numbered there": _numbered_there,
    "components": _components,
    "strong components": _strong,
    "results": _results,
    "directed": _directed,
    "directed measures": _directed_measures,
    "measured rows are kept": _measured_rows_are_kept,
    "measured over the link": _measured_over_the_link,
    "measured as varint": _measured_encoded("varint"),
    "measured as blocks": _measured_encoded("blocks"),
    "measured as elias_fano": _measured_encoded("elias_fano"),
    "searches that follow": _searches_that_follow,
    "saved": _saved,
    **{f"reordered {method}": _reordered(method) for method in ORDERS},
    **{f"compressed {layout}": _compressed(layout) for layout in LAYOUTS},
    "placed host": _placed("host"),
    "placed device": _placed("device"),
    "placed pinned": _placed("pinned"),
    "placed split": _placed("split", device_memory="8MB"),
    "placed streamed": _placed("streamed", device_memory="8MB"),
}
