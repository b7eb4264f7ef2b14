"""Stages with results of any size, for tests of what stays in memory."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

import numpy

from gravel.pipeline.core.errors import Location
from gravel.pipeline.plan.model import InputRef, StageRun
from gravel.stages.artifact import Json
from gravel.stages.artifacts import Graph, Measurement
from gravel.stages.rank_group import RankContext
from gravel.stages.stage import Extent, Machine, Need, Origin, Parameters, Slot, Stage
from tests.pipeline.tiny_stages import Tiny, mark


class Sized(Tiny):
    """`count` numbers are made; `spoil` writes into an input, `random` makes other numbers each time.

    `cut` has the first of several readers cut the file of its input while that is mapped, and note it in the
    file of this name.
    """

    count: int = 4
    spoil: bool = False
    random: bool = False
    die_after: str = ""
    cut: str = ""


def fill(context: Any, parameters: Sized, inputs: tuple[Any, ...] = ()) -> Graph:
    """Make numbers that rest on the inputs', and note where."""
    mark(parameters)
    time.sleep(parameters.sleep)
    total = parameters.value
    for each in inputs:
        offsets = numpy.asarray(each.row_offsets)
        total += int(offsets.sum() % 1000)
        if parameters.spoil:
            offsets[0] += 1
    if parameters.random:
        total += time.time_ns() % 997
    if parameters.die_after and not Path(parameters.die_after).exists():
        Path(parameters.die_after).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    sink = context.sink(numpy.int64, rows=parameters.count)
    for start in range(0, parameters.count, 1 << 20):
        numbers = numpy.arange(start, min(parameters.count, start + (1 << 20)))
        numbers += total
        sink.append(numbers)
    context.remark(
        f"in process {os.getpid()}, inputs in {[type(each.row_offsets).__name__ for each in inputs]}"
    )
    return Graph(
        row_offsets=sink.close(),
        column_indices=numpy.zeros(0, numpy.uint32),
        vertex_count=1,
        arc_count=0,
        symmetric=True,
        deduplicated=True,
    )


def look(context: Any, parameters: Sized, inputs: tuple[Any, ...]) -> Measurement:
    """Note what the inputs were."""
    mark(parameters)
    time.sleep(parameters.sleep)
    if parameters.cut and not Path(parameters.cut).exists():
        Path(parameters.cut).touch()
        offsets = numpy.asarray(inputs[0].row_offsets)
        os.truncate(inputs[0].row_offsets.folder / "c" / "0", 4096)
        offsets.sum()
    return measured([seen(None, each) for each in inputs])


def seen(rank: RankContext | None, each: Graph) -> Json:
    """Say what an input is, and where it was read."""
    return {
        "type": type(each.row_offsets).__name__,
        "sum": int(numpy.asarray(each.row_offsets).sum()),
        "writes": bool(getattr(getattr(each.row_offsets, "flags", None), "writeable", True)),
        "process": os.getpid(),
        "host": socket.gethostname(),
    }


def look_as_ranks(context: Any, parameters: Sized, inputs: tuple[Any, ...]) -> Measurement:
    """Note what the first input is for two ranks."""
    if parameters.cut and not Path(parameters.cut).exists():
        Path(parameters.cut).touch()
        os.truncate(inputs[0].row_offsets.folder / "c" / "0", 4096)
    return measured(context.rank_group(seen, [inputs[0]] * 2))


def measured(found: list[Json]) -> Measurement:
    """Return what was found as a result."""
    return Measurement(
        algorithm="none",
        strategy="none",
        reason="test",
        backend="cpu",
        hardware="test",
        prepare_milliseconds=0.0,
        searches=found,
    )


def _need(parameters: Sized, extents: Any, machine: Machine) -> Need:
    return Need(parameters.need, 0, (Extent("Graph", vertices=1, bytes=8 * parameters.count),))


def _look_need(parameters: Sized, extents: Any, machine: Machine) -> Need:
    return Need(parameters.need, 0, (Extent("Measurement"),))


GRAPHS = Slot(("Graph",), "numbers", many=True)
FILL = Stage("fill", 1, "Fills.", Sized, {"inputs": GRAPHS}, ("Graph",), fill, _need)
LOOK = Stage("look", 1, "Looks.", Sized, {"inputs": GRAPHS}, ("Measurement",), look, _look_need)
RANKS = Stage(
    "look_as_ranks",
    1,
    "Looks.",
    Sized,
    {"inputs": GRAPHS},
    ("Measurement",),
    look_as_ranks,
    _look_need,
    ranks=lambda parameters: 2,
)
FOREIGN = Stage(
    "foreign",
    1,
    "Fills.",
    Sized,
    {"inputs": GRAPHS},
    ("Graph",),
    fill,
    _need,
    origin=Origin("own.py", "code"),
)


def sized(key: str, stage: Stage, *inputs: str, keep: bool = True, **parameters: Any) -> StageRun:
    """One run, its inputs given as keys."""
    given: Parameters = Sized(**parameters)
    return StageRun(
        key=key,
        entry=key,
        stage=stage,
        parameters=given,
        inputs={"inputs": tuple(InputRef(name, 0) for name in inputs)},
        coordinates={},
        keep=keep,
        forced=False,
        location=Location("tiny.yaml", 1, 1),
    )
