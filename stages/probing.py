"""The work of `probe`: one search per source for its levels, then every part over them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError, VerificationFailed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.probes.levels import Levels
    from gravel.kernels.probes.timed import Probes, Timed
    from gravel.stages.artifacts import Probe
    from gravel.stages.context import Context
    from gravel.stages.probe_parameters import ProbeParameters
    from gravel.stages.traversal.graph import SearchedGraph

ON_CPU = "the parts were played on the CPU, thread after thread, so their times say nothing of a GPU"
COUNTED = "bytes and lanes are counted by a twin of the gathers, not measured"
SEPARATE = "scan_warp_cta"
"""The gather that a fused kernel is compared with, since it is the one inside (section 4.3)."""

Part = dict[str, Any]


def parts_of(parameters: ProbeParameters) -> list[Part]:
    """List what is to be run: records of part, method and schedule."""
    chosen, schedules = parameters.chosen(), parameters.schedules
    gathers = {"gather": chosen, "gather_and_lookup": (SEPARATE,)}.get(parameters.measure, ())
    parts: list[Part] = [
        {"part": "gather", "method": name, "schedule": schedule} for name in gathers for schedule in schedules
    ]
    if parameters.measure in ("lookup", "gather_and_lookup"):
        parts += [{"part": "lookup", "method": name, "schedule": None} for name in chosen]
    if parameters.measure == "gather_and_lookup":
        parts += [
            {"part": "coupled", "method": name, "schedule": schedule}
            for name in chosen
            for schedule in schedules
        ]
    return parts


def probe_all(
    context: Context, parameters: ProbeParameters, graph: SearchedGraph, sources: NDArray[Any]
) -> Probe:
    """Make the artifact from all sources, the first of them level by level as well."""
    import numpy

    from gravel.kernels.probes import prepare
    from gravel.kernels.probes.levels import levels_of
    from gravel.stages.artifacts import Probe
    from gravel.stages.traversal.strategy import machine_name

    parts = parts_of(parameters)
    notes = [*graph.notes, *([ON_CPU] if graph.backend == "cpu" and parts else [])]
    searches: list[dict[str, Any]] = []
    first, counted, floor = None, {}, 0.0
    numbered = sources if graph.permutation is None else graph.permutation[sources].astype(numpy.int64)
    offsets = _on_host(graph.row_offsets)
    search = _search(graph, parameters.strategy) if len(sources) else None
    for done, (source, start) in enumerate(zip(sources.tolist(), numbered.tolist(), strict=True)):
        assert search is not None
        distance = _on_host(search.run(start).distance)
        levels = levels_of(distance, offsets)
        probes = prepare(graph.columns, levels, graph.vertex_count, block=parameters.block)
        record = _record(probes, levels, distance, parts, parameters.repeats)
        searches.append({"source": source, "depth": levels.count - 1, **_summed(record)})
        if done == 0:
            first, floor = _plain(record), probes.floor_milliseconds
            counted = _counted(parts, levels, graph.columns.dtype, parameters.block)
        context.progress(done + 1, len(sources), "searches")
        del probes  # whose edges are as many as the next one's
    return Probe(
        measure=parameters.measure,
        backend=graph.backend,
        hardware=machine_name(context.machine, graph.backend),
        block=parameters.block,
        repeats=parameters.repeats,
        floor_milliseconds=floor,
        parts=parts,
        searches=searches,
        levels=first,
        counted=counted,
        notes=[*notes, *([COUNTED] if counted else [])],
    )


def _on_host(array: Any) -> NDArray[Any]:
    from gravel.kernels.arrays import backend_of

    found: NDArray[Any] = array.get() if backend_of(array) == "cuda" else array
    return found


def _search(graph: SearchedGraph, strategy: str) -> Any:
    from gravel.kernels.bfs import prepare

    try:
        return prepare(
            graph.row_offsets,
            graph.columns,
            strategy=strategy,
            output="distance",
            symmetric=graph.symmetric,
        )
    except ValueError as error:
        raise StageError(str(error)) from None


def _record(
    probes: Probes, levels: Levels, distance: NDArray[Any], parts: list[Part], repeats: int
) -> dict[str, Any]:
    """Run and check every part; each value has an entry per level, within one per part where it has those."""
    distinct, checksums = probes.distinct()
    milliseconds: list[NDArray[Any]] = []
    passed: list[NDArray[Any] | None] = []
    for part in parts:
        timed = _run(probes, part, repeats)
        if part["part"] == "gather":
            _check(part, bool((timed.counts == checksums).all()), "has not read every neighbour")
        else:
            wrong = (timed.counts < levels.fresh_counts).any()
            if part["method"] != "bitmask":
                wrong = wrong or (probes.labels() != distance).any()
            _check(part, not wrong, "has not found what the search found")
        milliseconds.append(timed.milliseconds)
        passed.append(None if part["part"] == "gather" else timed.counts)
    return {
        "vertices": levels.vertex_counts,
        "arcs": levels.arc_counts,
        "distinct": distinct,
        "fresh": levels.fresh_counts,
        "milliseconds": milliseconds,
        "passed": passed,
    }


def _run(probes: Probes, part: Part, repeats: int) -> Timed:
    if part["part"] == "gather":
        return probes.gather(part["method"], schedule=part["schedule"], repeats=repeats)
    if part["part"] == "lookup":
        return probes.look_up(part["method"], repeats=repeats)
    return probes.couple(part["method"], schedule=part["schedule"], repeats=repeats)


def _check(part: Part, sound: bool, fault: str) -> None:
    if not sound:
        name = " ".join(each for each in part.values() if each is not None)
        raise VerificationFailed(
            f"the part {name} {fault}", hint="its kernel is wrong, so its times are invalid"
        )


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(each) for each in value]
        return None if value is None else value.tolist()

    return {name: plain(value) for name, value in record.items()}


def _summed(record: dict[str, Any]) -> dict[str, Any]:
    def total(value: Any) -> Any:
        if isinstance(value, list):
            return [total(each) for each in value]
        return None if value is None else value.sum().item()

    return {name: total(value) for name, value in record.items()}


def _counted(parts: list[Part], levels: Levels, dtype: Any, block: int) -> dict[str, dict[str, int]]:
    """Count what each gather among the parts loads, in bytes and lanes, over all levels."""
    import numpy

    from gravel.kernels.bfs.cuda.parts import GATHERS, LISTED
    from gravel.kernels.probes.gather_cpu import SECTORS, SLOTS, gather_level, sector_arcs

    names = dict.fromkeys(part["method"] for part in parts if part["part"] == "gather")
    counted = {}
    begin = levels.vertex_begin.tolist()
    for name in names:
        counts = numpy.zeros(4, numpy.uint64)
        for low, high in itertools.pairwise(begin):
            gather_level(
                levels.ranges[low:high],
                numpy.empty(0, dtype),
                GATHERS[name],
                block,
                LISTED * block,
                sector_arcs(dtype),
                counts,
            )
        counted[name] = {
            "bytes": 32 * int(counts[SECTORS]) + levels.ranges.nbytes,
            "slots": int(counts[SLOTS]),
        }
    return counted
