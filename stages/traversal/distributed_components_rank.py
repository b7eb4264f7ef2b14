"""What one rank of a distributed graph does to find its part of the components, and to check labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gravel.stages.partitioning.resident import Held, Recipe, find_rank, wire_of

if TYPE_CHECKING:
    from gravel.kernels.partition.components import RankComponents
    from gravel.kernels.verify import Check
    from gravel.stages.rank_group import RankContext

PIECE = 1 << 24
"""Labels that a rank reads at once where it takes its own of all."""


@dataclass(frozen=True)
class ComponentsTask:
    """What each rank is given: how often to find components, whether to check labels and give them back."""

    recipe: Recipe
    backend: str
    threads: int
    runs: int
    check: bool
    labels: bool


@dataclass(frozen=True)
class ComponentsAnswer:
    """What one rank tells; `checks` are of all ranks."""

    rank: int
    last: RankComponents  # without labels unless they are wanted
    milliseconds: tuple[float, ...]  # of each run
    named: int  # components whose smallest vertex is the rank's
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class CheckTask:
    """Labels of all vertices, of which each rank takes its own."""

    recipe: Recipe
    threads: int
    component: Any


def find_as_rank(gang: RankContext, task: ComponentsTask) -> ComponentsAnswer:
    """Find components as one rank, so many times; the rank's part is found or made first."""
    from gravel.kernels.jit import set_threads

    set_threads(task.threads)
    named, held, _ = find_rank(gang, task.recipe, task.backend)
    held.kept.clear()

    def finish(found: RankComponents, times: list[float]) -> ComponentsAnswer:
        return _answer(named, held, task, found, times)

    if task.backend == "cuda":
        from gravel.stages.traversal.distributed_gpu import find_on_gpu

        return find_on_gpu(named, held, task.runs, finish)
    return _find_on_cpu(named, held, task.runs, finish)


def _find_on_cpu(
    gang: RankContext,
    held: Held,
    runs: int,
    finish: Callable[[RankComponents, list[float]], ComponentsAnswer],
) -> ComponentsAnswer:
    from gravel.kernels.partition import components_of_rank
    from gravel.kernels.partition.components_rank import ComponentsRank

    share = held.share
    state = ComponentsRank(share.part, share.delegates, share.vertex_count, gang.size, symmetric=True)
    times = []
    for _ in range(runs):
        # Nobody begins, or starts its clock, before all have ended the run before.
        gang.barrier()
        found = components_of_rank(gang, state)
        times.append(found.milliseconds)
    # Checks need the room of what found the labels.
    del state
    return finish(found, times)


def _answer(
    gang: RankContext, held: Held, task: ComponentsTask, found: RankComponents, times: list[float]
) -> ComponentsAnswer:
    import numpy

    from gravel.kernels.placement.device_copies import on_host

    component = found.component
    named = _named(gang, component, held.backend)
    checks = _checked(gang, held, component) if task.check else []
    kept: Any = on_host(component) if task.labels else numpy.empty(0, component.dtype)
    told = replace(found, component=kept)
    return ComponentsAnswer(gang.rank, told, tuple(times), named, tuple(checks))


def _named(gang: RankContext, component: Any, backend: str) -> int:
    """Count the own vertices that are labels of themselves."""
    if backend == "cuda":
        import cupy as xp
    else:
        import numpy as xp
    kind = component.dtype.type
    vertices = xp.arange(len(component), dtype=component.dtype) * kind(gang.size) + kind(gang.rank)
    return int(xp.count_nonzero(component == vertices))


def _checked(gang: RankContext, held: Held, component: Any) -> list[Check]:
    from gravel.kernels.exchange import Endpoint, drive
    from gravel.kernels.verify.ranks.components import check_components_program

    if held.backend == "cuda":
        from gravel.kernels.verify.ranks.components_cuda import RankLabelChecker as Made
    else:
        from gravel.kernels.verify.ranks.components_cpu import RankLabelChecker as Made  # type: ignore[assignment]
    share = held.share
    checker: Any = Made(share.part, share.delegates, share.vertex_count, gang.size)
    # What one program posts must not be taken for what the next does.
    gang.barrier()
    with wire_of(gang, held.backend) as wire:
        return drive(check_components_program(Endpoint(wire), checker, component), wire)


def check_as_rank(gang: RankContext, task: CheckTask) -> list[Check]:
    """Check labels as one rank, which reads some at a time and keeps its own."""
    import numpy

    from gravel.kernels.jit import set_threads

    set_threads(task.threads)
    named, held, _ = find_rank(gang, task.recipe, None)
    held.kept.clear()
    n, p = len(task.component), named.size
    own = numpy.empty(len(range(named.rank, n, p)), task.component.dtype)
    for first in range(0, n, PIECE):
        labels = numpy.asarray(task.component[first : first + PIECE])
        mine = labels[(named.rank - first) % p :: p]
        place = (first + (named.rank - first) % p) // p
        own[place : place + len(mine)] = mine
    if held.backend == "cuda":
        import cupy

        own = cupy.asarray(own)
    return _checked(named, held, own)
