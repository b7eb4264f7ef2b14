"""A stage run with everything decided, made into the task that travels to its worker slot."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from gravel.pipeline.workers.stage_task import StageTask

if TYPE_CHECKING:
    from gravel.pipeline.core.hashing import Recipe
    from gravel.pipeline.scheduler.node import Node
    from gravel.pipeline.scheduler.run_state import RunState
    from gravel.pipeline.store.not_written import NotWritten, Terms


def make_task(node: Node, state: RunState, left_out: Terms | NotWritten | None = None) -> StageTask:
    """Return the task of a node that has its recipe, its parameters and its worker slots.

    `left_out` says when its result is not written, if it stays in memory.
    """
    nodes, cache, record = state.nodes, state.cache, state.report.record
    assert node.recipe is not None
    assert node.parameters is not None
    ids = {key: nodes.ids[key] for key in node.run.upstream}
    slots = {key: (slot, *sorted(nodes[key].copies)) for key in ids if (slot := nodes[key].resident_at)}
    recipe = node.recipe.digest
    inputs = {slot: tuple(ids[ref.run][ref.output] for ref in refs) for slot, refs in node.run.inputs.items()}
    return StageTask(
        key=node.key,
        attempt=node.attempt,
        run=record.run,
        stage=node.run.stage,
        parameters=node.parameters,
        inputs=inputs,
        records={
            name: found
            for ids in inputs.values()
            for name in ids
            if (found := cache.unpublished.get(name)) is not None
        },
        host=socket.gethostname(),
        recipe=recipe,
        cache=cache,
        machine=state.environment.machine(node.run.stage, node.threads),
        keep=bool(node.run.keep),
        scratch=cache.root / "scratch" / record.run / f"{recipe[:16]}-{node.attempt}",
        log=record.log_path(node.key),
        resident={
            name: slots[ref.run]
            for slot, refs in node.run.inputs.items()
            for name, ref in zip(inputs[slot], refs, strict=True)
            if ref.run in slots
        },
        in_memory=node.in_memory,
        left_out=left_out if node.in_memory else None,
        on_device=node.on_device,
        profile=state.profile,
        device_bytes=node.need.device_bytes if node.need is not None else 0,
        time_limit=node.run.time_limit,
        contents=_digests(node.recipe),
    )


def _digests(recipe: Recipe) -> dict[str, str]:
    return {name: content.split(" ")[0] for name, content in recipe.contents.items()}
