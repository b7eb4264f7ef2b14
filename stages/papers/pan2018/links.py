"""links: times of messages between ranks, by their size and by what carries them.

Of `Links`, `curves` has a record for each `transport` ("wire", "peer", "nccl") and `pattern` ("meet", "pair",
"exchange", "cut", "reduce"; see `gravel.kernels.papers.pan2018.links`) with its `points`: `bytes` of a
message, `carried`, the bytes that a rank receives in a turn, `seconds` of a turn on the slowest rank (the
median of the repetitions), `fastest`, `turns` that were timed together, and `repeats`, their repetitions.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ByteSize, Field, model_validator

from gravel.stages.artifacts import Links
from gravel.stages.errors import StageError, VerificationFailed
from gravel.stages.stage import Extent, Machine, Need, Parameters, Stage

if TYPE_CHECKING:
    from gravel.kernels.papers.pan2018.links import Link, Measured
    from gravel.stages.context import Context
    from gravel.stages.rank_group import RankContext


class LinksParameters(Parameters):
    """Parameters: the number of ranks, the transports, and the sizes of messages."""

    ranks: int = Field(default=2, ge=2, le=64)
    """Workers that exchange messages; one GPU each on a run with GPUs."""
    transports: tuple[Literal["wire", "peer", "nccl"], ...] = ()
    """`wire` (network between workers), `peer` (GPUs that read each other's memory), `nccl`; default: all."""
    smallest: ByteSize = Field(default=ByteSize(64), ge=8)
    """The smallest message, such as `64`."""
    largest: ByteSize = Field(default=ByteSize(1 << 20), ge=8)
    """The largest message, such as `16MiB`."""
    wire_largest: ByteSize = Field(default=ByteSize(16 << 20), ge=8)
    """The largest message and `total` over `wire`, where a MiB takes 10 ms or more."""
    step: int = Field(default=4, ge=2)
    """Factor between the sizes of two messages."""
    total: ByteSize = Field(default=ByteSize(1 << 20), ge=8)
    """Bytes sent to each rank in messages of each size."""
    repeats: int = Field(default=5, ge=1)
    """Repetitions; the median is reported."""
    point_seconds: float = Field(default=0.5, gt=0)
    """The most seconds for one size of one pattern; long ones are repeated less often."""

    @model_validator(mode="after")
    def _fit_together(self) -> LinksParameters:
        if self.smallest > self.largest:
            raise ValueError(f"smallest is {self.smallest} bytes, and largest {self.largest}")
        if len(set(self.transports)) < len(self.transports):
            raise ValueError(f"{', '.join(self.transports)} lists a value twice")
        return self


STARTED = 24 << 20
"""Measured: a worker that has loaded what carries messages."""


def links(context: Context, parameters: LinksParameters) -> Links:
    """Time barriers, messages and reductions between ranks, each on its own worker.

    Raises `StageError` for a transport that is not available, and `VerificationFailed` if a message arrives
    changed.
    """
    return measure_links(context, parameters)


def _estimate(
    parameters: LinksParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    largest, ranks = int(parameters.largest), parameters.ranks
    # On the wire a message is pickled at both ends and in between, for each other rank.
    flying = min(max(largest, int(parameters.total)), int(parameters.wire_largest))
    host = ranks * STARTED + 6 * ranks * (ranks - 1) * flying
    device = (3 * ranks + 3) * largest if machine.backend == "cuda" else 0
    return Need(host, device, (Extent(kind="Links", bytes=0),))


@dataclass(frozen=True)
class LinksTask:
    """Task of one rank."""

    parameters: LinksParameters
    backend: str


@dataclass(frozen=True)
class LinksAnswer:
    """Answer of one rank; `missing` says why a transport is not at hand, `wrong` what did not arrive."""

    points: tuple[Measured, ...]
    missing: dict[str, str]
    wrong: str
    host: str
    process: int
    spent: dict[str, tuple[float, float]]
    """Seconds that each transport took to connect, and to measure."""


def measure_as_rank(rank_group: RankContext, task: LinksTask) -> LinksAnswer:
    """Measure every transport at hand as one rank of a rank group.

    Raises `RankGroupBroken` when GPUs waited for each other in vain.
    """
    from gravel.kernels.papers.pan2018.links import TRANSPORTS, measure
    from gravel.stages.rank_group import RankGroupBroken

    asked = task.parameters
    points: list[Measured] = []
    missing: dict[str, str] = {}
    wrong = ""
    spent: dict[str, tuple[float, float]] = {}
    for name in asked.transports or TRANSPORTS:
        began = time.perf_counter()
        link, problem = _connected(rank_group, task, name)
        connected = time.perf_counter()
        if link is None:
            missing[name] = problem
            continue
        try:
            points += measure(
                rank_group,
                link,
                _sizes(asked, name),
                repeats=asked.repeats,
                total=_total(asked, name),
                point_seconds=asked.point_seconds,
            )
            link.close()
        except RuntimeError as error:
            if "did not bring" not in str(error):
                raise RankGroupBroken(f"rank {rank_group.rank}: {error}") from error
            wrong = wrong or str(error)
        spent[name] = (connected - began, time.perf_counter() - connected)
    return LinksAnswer(tuple(points), missing, wrong, socket.gethostname(), os.getpid(), spent)


def _total(asked: LinksParameters, name: str) -> int:
    """Give what a transport sends to each rank in messages of each size."""
    return min(int(asked.total), int(asked.wire_largest)) if name == "wire" else int(asked.total)


def _sizes(asked: LinksParameters, name: str) -> tuple[int, ...]:
    """List the messages of a transport, one at least."""
    from gravel.kernels.papers.pan2018.links import sizes_between

    first, *others = sizes_between(int(asked.smallest), int(asked.largest), asked.step)
    return first, *(size for size in others if name != "wire" or size <= asked.wire_largest)


def _connected(rank_group: RankContext, task: LinksTask, name: str) -> tuple[Link | None, str]:
    """Connect over a transport, or say why that cannot be; alike on all ranks."""
    from gravel.kernels.papers.pan2018.links.wire import WireLink

    asked = task.parameters
    if name == "wire":
        return WireLink(rank_group, total=_total(asked, name)), ""
    if task.backend != "cuda":
        return None, "the run has no GPUs"
    largest = -(-int(asked.largest) // 8) * 8
    link: Link
    if name == "peer":
        from gravel.kernels.papers.pan2018.links import peer

        problem = peer.why_no_peers(rank_group)
        if problem is not None:
            return None, problem
        link = peer.PeerLink(rank_group, largest=largest)
        return link, ""
    from gravel.kernels.papers.pan2018.links import nccl

    problem = nccl.why_not(rank_group)
    if problem is not None:
        return None, problem
    link = nccl.NcclLink(rank_group, largest=largest, total=int(asked.total))
    return link, ""


def measure_links(context: Context, parameters: LinksParameters) -> Links:
    """Make the artifact from what the ranks of a rank group found."""
    from gravel.stages.artifacts import Links
    from gravel.stages.traversal.records import machine_name

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
        fields = dataclasses.asdict(point)
        curve["points"].append(
            {name: value for name, value in fields.items() if name not in ("transport", "pattern")}
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


STAGE = Stage(
    name="links",
    version=2,
    about="Times barriers, messages and reductions between ranks by size, over each available transport.",
    parameters=LinksParameters,
    inputs={},
    outputs=("Links",),
    run=links,
    estimate=_estimate,
    measures=True,
    cuda=True,
    ranks=lambda parameters: int(parameters.ranks),
)
