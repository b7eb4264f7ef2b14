"""Stages with results of any size, for tests of what stays in memory."""

from __future__ import annotations

import os
import signal
import socket
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy

from gravel.pipeline.plan.model import StageRun
from gravel.stages.artifact import Json
from gravel.stages.artifacts import Graph, Measurement
from gravel.stages.rank_group import RankContext
from gravel.stages.stage import Extent, Machine, Need, Origin, Slot, Stage
from tests.pipeline.tiny_stages import Tiny, await_files, begun, graph_of, mark, measurement, stage_run


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
    await_files(parameters)
    time.sleep(parameters.sleep)
    total = parameters.value
    for each in inputs:
        offsets = numpy.asarray(each.row_offsets)
        total += int(offsets.sum() % 1000)
        if parameters.spoil:
            offsets[0] += 1
            mark(parameters, "spoilt")
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
    return graph_of(sink.close())


def look(context: Any, parameters: Sized, inputs: tuple[Any, ...]) -> Measurement:
    """Note what the inputs were."""
    mark(parameters)
    await_files(parameters)
    time.sleep(parameters.sleep)
    if parameters.cut and not Path(parameters.cut).exists():
        Path(parameters.cut).touch()
        offsets = numpy.asarray(inputs[0].row_offsets)
        os.truncate(inputs[0].row_offsets.folder / "c" / "0", 4096)
        offsets.sum()
    return measurement(context, *(seen(None, each) for each in inputs))


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
    return measurement(context, *context.rank_group(seen, [inputs[0]] * 2))


def _need(parameters: Sized, extents: Any, machine: Machine) -> Need:
    return Need(parameters.need, 0, (Extent("Graph", vertices=1, bytes=8 * parameters.count),))


def _look_need(parameters: Sized, extents: Any, machine: Machine) -> Need:
    return Need(parameters.need, 0, (Extent("Measurement"),))


GRAPHS = Slot(("Graph",), "numbers", many=True)
FILL = Stage("fill", 1, "Fills.", Sized, {"inputs": GRAPHS}, ("Graph",), fill, _need)
LOOK = Stage("look", 1, "Looks.", Sized, {"inputs": GRAPHS}, ("Measurement",), look, _look_need)
RANKS = replace(LOOK, name="look_as_ranks", run=look_as_ranks, ranks=lambda parameters: 2)
FOREIGN = replace(FILL, name="foreign", origin=Origin("own.py", "code"))


def looks_of_two(marks: Path, number: int) -> list[StageRun]:
    """Runs of `LOOK` on `a`, of which the first two run on two workers at the same time."""
    awaits = {0: begun(marks, 1), 1: begun(marks, 0)}
    return [
        stage_run(f"l{value}", LOOK, "a", value=value, awaits=awaits.get(value, ""), marks=str(marks))
        for value in range(number)
    ]
