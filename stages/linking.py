"""The work of `links`: every rank measures, and all agree."""

from __future__ import annotations

import dataclasses
import os
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError, VerificationFailed

if TYPE_CHECKING:
    from gravel.kernels.probes.links import Link, Measured
    from gravel.stages.artifacts import Links
    from gravel.stages.context import Context
    from gravel.stages.links_parameters import LinksParameters
    from gravel.stages.rank_group import RankContext


@dataclass(frozen=True)
class LinksTask:
    """What one rank needs."""

    parameters: LinksParameters
    backend: str


@dataclass(frozen=True)
class LinksAnswer:
    """What one rank found; `missing` says why a transport is not at hand, `wrong` what did not arrive."""

    points: tuple[Measured, ...]
    missing: dict[str, str]
    wrong: str
    host: str
    process: int
    spent: dict[str, tuple[float, float]]
    """Seconds that each transport took to connect, and to measure."""


def measure_as_rank(gang: RankContext, task: LinksTask) -> LinksAnswer:
    """Measure every transport at hand as one rank of a gang.

    Raises `RankGroupBroken` when GPUs waited for each other in vain.
    """
    from gravel.kernels.probes.links import TRANSPORTS, measure
    from gravel.stages.rank_group import RankGroupBroken

    asked = task.parameters
    points: list[Measured] = []
    missing: dict[str, str] = {}
    wrong = ""
    spent: dict[str, tuple[float, float]] = {}
    for name in asked.transports or TRANSPORTS:
        began = time.perf_counter()
        link, problem = _connected(gang, task, name)
        connected = time.perf_counter()
        if link is None:
            missing[name] = problem
            continue
        try:
            points += measure(
                gang,
                link,
                _sizes(asked, name),
                repeats=asked.repeats,
                total=_total(asked, name),
                point_seconds=asked.point_seconds,
            )
            link.close()
        except RuntimeError as error:
            if "did not bring" not in str(error):
                raise RankGroupBroken(f"rank {gang.rank}: {error}") from error
            wrong = wrong or str(error)
        spent[name] = (connected - began, time.perf_counter() - connected)
    return LinksAnswer(tuple(points), missing, wrong, socket.gethostname(), os.getpid(), spent)


def _total(asked: LinksParameters, name: str) -> int:
    """Give what a transport sends to each rank in messages of each size."""
    return min(int(asked.total), int(asked.wire_largest)) if name == "wire" else int(asked.total)


def _sizes(asked: LinksParameters, name: str) -> tuple[int, ...]:
    """List the messages of a transport, one at least."""
    from gravel.kernels.probes.links import sizes_between

    first, *others = sizes_between(int(asked.smallest), int(asked.largest), asked.step)
    return first, *(size for size in others if name != "wire" or size <= asked.wire_largest)


def _connected(gang: RankContext, task: LinksTask, name: str) -> tuple[Link | None, str]:
    """Connect over a transport, or say why that cannot be; alike on all ranks."""
    from gravel.kernels.probes.links.wire import WireLink

    asked = task.parameters
    if name == "wire":
        return WireLink(gang, total=_total(asked, name)), ""
    if task.backend != "cuda":
        return None, "the run has no GPUs"
    largest = -(-int(asked.largest) // 8) * 8
    link: Link
    if name == "peer":
        from gravel.kernels.probes.links import peer

        problem = peer.why_no_peers(gang)
        if problem is not None:
            return None, problem
        link = peer.PeerLink(gang, largest=largest)
        return link, ""
    from gravel.kernels.probes.links import nccl

    problem = nccl.why_not(gang)
    if problem is not None:
        return None, problem
    link = nccl.NcclLink(gang, largest=largest, total=int(asked.total))
    return link, ""


def measure_links(context: Context, parameters: LinksParameters) -> Links:
    """Make the artifact from what the ranks of a gang found."""
    from gravel.stages.artifacts import Links
    from gravel.stages.traversal.strategy import machine_name

    backend = context.machine.backend
    answers: list[LinksAnswer] = context.rank_group(
        measure_as_rank, [LinksTask(parameters, backend)] * parameters.ranks
    )
    first = answers[0]
    if first.wrong:
        raise VerificationFailed(first.wrong, hint="its times are invalid")
    for name in parameters.transports:
        if name in first.missing:
            raise StageError(
                f"transport {name} is not available: {first.missing[name]}",
                hint="leave transports out to measure all that are",
            )
    notes = [f"{name} was not measured: {why}" for name, why in first.missing.items()]
    if "wire" in first.spent and parameters.wire_largest < parameters.largest:
        notes.append(f"over the wire messages of up to {int(parameters.wire_largest)} bytes were measured")
    for transport, (connecting, measuring) in first.spent.items():
        context.log(f"{transport}: connected in {connecting:.1f} s, measured in {measuring:.1f} s")
    if len({(answer.host, answer.process) for answer in answers}) < len(answers):
        notes.append("the ranks were threads of one process, which share their memory")
    curves: dict[tuple[str, str], dict[str, Any]] = {}
    for point in first.points:
        curve = curves.setdefault(
            (point.transport, point.pattern),
            {"transport": point.transport, "pattern": point.pattern, "points": []},
        )
        told = dataclasses.asdict(point)
        curve["points"].append(
            {name: value for name, value in told.items() if name not in ("transport", "pattern")}
        )
    return Links(
        ranks=parameters.ranks,
        hosts=len({answer.host for answer in answers}),
        backend=backend,
        hardware=machine_name(context.machine, backend),
        total=int(parameters.total),
        curves=list(curves.values()),
        notes=notes,
    )
