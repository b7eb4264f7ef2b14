"""Orders and layouts that `auto` tries before it chooses."""

import numpy
import pytest

from gravel.kernels.advice.decide import MARGIN, Advice
from gravel.kernels.advice.model import Workload
from gravel.kernels.csr import build
from gravel.kernels.generate import generate
from gravel.stages import trials
from gravel.stages.advice import AdviceParameters, OrderAdviceParameters
from gravel.stages.compress import STAGE as COMPRESS
from gravel.stages.compress import CompressParameters, packed_as
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.reorder import STAGE as REORDER
from gravel.stages.reorder import ReorderParameters
from gravel.stages.stage import Extent, Machine
from tests.stages.traverse_case import as_graph

MANY = 10**9


def record(order, layout, estimate, prepare=0.0):
    return {
        "order": order,
        "layout": layout,
        "placement": "device",
        "bits_per_arc": 8.0,
        "search_milliseconds": estimate,
        "prepare_milliseconds": prepare,
    }


RECORDS = (
    record("degree", "blocks", 1.0, 1e9),
    record("degree", "csr", 1.2, 5e8),
    record("original", "csr", 2.0),
    record("rcm", "varint", 2.9),
    record("community", "varint", 3.1),
)


@pytest.fixture
def graph():
    source, target = generate("rmat", scale=8, edge_factor=16, seed=1)
    row_offsets, columns = build(source, target, 1 << 8)[:2]
    return as_graph(row_offsets, columns)


def context():
    return PlainContext(Machine(backend="cpu", threads=2, host_memory=1 << 30))


def tried(monkeypatch, graph, times, *, searches=MANY, records=RECORDS, field="order"):
    """The advice after choices that take so many milliseconds, or fail; and the choices in their order."""
    asked = []

    def milliseconds(context, packed, rows, layout, parameters):
        asked.append((rows, layout))
        taken = times[rows, layout]
        if isinstance(taken, str):
            raise StageError(taken)
        return taken

    monkeypatch.setattr(trials, "_milliseconds", milliseconds)
    advice = Advice(Workload(searches=searches), records[0][field], "it was likely", records)
    parameters = AdviceParameters(searches=searches, measure=True)
    there = context()
    found = trials.try_choices(there, graph, advice, parameters, lambda order: order, packed_as, field=field)
    return found, asked, there


TIMES = {
    ("degree", "blocks"): 4.0,
    ("degree", "csr"): 2.5,
    ("original", "csr"): 3.5,
    ("rcm", "varint"): 1.5,
}


def test_the_fastest_of_what_is_likely_is_chosen(monkeypatch, graph):
    advice, asked, _ = tried(monkeypatch, graph, TIMES)
    assert advice.choice == "rcm"
    assert asked == list(TIMES)  # an order's layouts together, and nothing that is far from likely
    assert advice.reason.startswith(
        "varint in the rcm order took 1.5 ms, csr in the original order 3.5 ms; 4 of 5 choices were tried in"
    )
    assert advice.reason.endswith("; by samples degree: it was likely")
    assert advice.considered[0] == {**RECORDS[3], "measured_milliseconds": 1.5}
    assert "measured_milliseconds" not in advice.considered[-1]


def test_what_hardly_saves_anything_is_left(monkeypatch, graph):
    advice, _, _ = tried(monkeypatch, graph, TIMES | {("rcm", "varint"): 3.45, ("degree", "csr"): 3.41})
    assert advice.choice == "original"


def test_preparation_counts(monkeypatch, graph):
    # An hour of preparation for each 1,000 searches is 3,600 ms a search.
    records = (record("degree", "csr", 1.0, 3.6e6), record("original", "csr", 1.0))
    times = {("degree", "csr"): 1.0, ("original", "csr"): 900.0}
    assert tried(monkeypatch, graph, times, records=records, searches=10**6)[0].choice == "degree"
    assert tried(monkeypatch, graph, times, records=records, searches=100_000)[0].choice == "degree"
    monkeypatch.setattr(trials, "MIN_SECONDS", 0.01)
    assert tried(monkeypatch, graph, times, records=records, searches=1000)[0].choice == "original"


def test_a_layout_is_chosen_in_the_same_way(monkeypatch, graph):
    records = tuple(record("original", layout, 1.0) for layout in ("blocks", "csr", "varint"))
    times = {("original", "blocks"): 2.0, ("original", "csr"): 2.1, ("original", "varint"): 1.0}
    advice, _, _ = tried(monkeypatch, graph, times, records=records, field="layout")
    assert advice.choice == "varint"
    assert advice.reason.startswith("varint took 1 ms, csr 2.1 ms; 3 of 3 choices")


def test_what_cannot_be_tried_is_left_out_and_told(monkeypatch, graph):
    advice, _, there = tried(monkeypatch, graph, TIMES | {("rcm", "varint"): "it does not fit"})
    assert advice.choice == "degree"
    assert "tried varint in the rcm order: it does not fit" in there.messages
    nothing = dict.fromkeys(TIMES, "it does not fit")
    advice, _, _ = tried(monkeypatch, graph, nothing)
    assert (advice.choice, advice.considered) == ("degree", RECORDS)
    assert advice.reason == "it was likely; nothing likely could be tried"


def test_nothing_is_tried_for_few_searches_or_on_a_large_graph(monkeypatch, graph):
    advice, asked, _ = tried(monkeypatch, graph, TIMES, searches=4_900)
    assert asked == []
    assert advice.reason == "it was likely; too few searches to try any"
    assert tried(monkeypatch, graph, TIMES, searches=5_100)[1] != []
    monkeypatch.setattr(trials, "MAX_ARCS", graph.arc_count - 1)
    advice, asked, _ = tried(monkeypatch, graph, TIMES)
    assert asked == []
    assert advice.reason == "it was likely; too large to be tried"


def test_trying_ends_when_its_time_is_over(monkeypatch, graph):
    monkeypatch.setattr(trials, "MAX_SECONDS", 0.0)
    monkeypatch.setattr(trials, "MIN_SECONDS", 0.0)
    advice, asked, _ = tried(monkeypatch, graph, TIMES)
    assert asked == [("degree", "blocks")]
    assert advice.choice == "degree"


@pytest.mark.parametrize("algorithm", ["bfs", "components"])
def test_reorder_tries_orders_with_the_stages_themselves(graph, algorithm):
    advice = OrderAdviceParameters(algorithm=algorithm, searches=MANY, layout="csr", measure=True)
    there = context()
    ordering = REORDER.run(there, ReorderParameters(method="auto", advice=advice), input=graph)
    weighed = ordering.statistics["advice"]["considered"]
    measured = {record["order"]: record["measured_milliseconds"] for record in weighed}
    assert {"original", "degree", "rcm"} <= set(measured)
    assert ordering.method == weighed[0]["order"]
    assert measured[ordering.method] <= min(measured.values()) / (1 - MARGIN)
    assert sum(message.startswith("tried csr in the ") for message in there.messages) == len(measured)
    plain = REORDER.run(context(), ReorderParameters(method=ordering.method), input=graph)
    assert numpy.array_equal(ordering.permutation, plain.permutation)


def test_compress_tries_layouts(monkeypatch, graph):
    times = {"csr": 2.0, "varint": 1.0, "blocks": 3.0, "elias_fano": 4.0}
    monkeypatch.setattr(
        trials, "_milliseconds", lambda context, packed, rows, layout, parameters: times[layout]
    )
    advice = AdviceParameters(searches=MANY, measure=True)
    packed = COMPRESS.run(context(), CompressParameters(codec="auto", advice=advice), input=graph)
    assert packed.codec == "varint"
    assert packed.statistics["advice"]["reason"].startswith("varint took 1 ms, csr 2 ms; ")


@pytest.mark.parametrize(
    ("stage", "parameters"),
    [(REORDER, ReorderParameters(method="auto")), (COMPRESS, CompressParameters(codec="auto"))],
)
def test_measuring_makes_hardware_part_of_the_recipe_and_takes_memory(stage, parameters):
    measured = parameters.model_copy(
        update={"advice": parameters.advice.model_copy(update={"measure": True})}
    )
    assert not stage.is_timed(parameters)
    assert stage.is_timed(measured)
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 40, device_memory=1 << 40)
    for arcs in (1 << 20, 1 << 28):
        extent = Extent(kind="Graph", vertices=1 << 16, arcs=arcs, bytes=4 * arcs)
        usual, more = (stage.estimate(each, {"input": (extent,)}, machine) for each in (parameters, measured))
        assert (more.host_bytes > usual.host_bytes + 16 * arcs) == (arcs <= trials.MAX_ARCS)
