"""Which graph a result is of: the artifact from which orders, layouts, partitions and searches of it came."""

from __future__ import annotations

from collections.abc import Mapping

from gravel.pipeline.plan.model import InputRef, Plan

GRAPH = "Graph"


def graph_id(plan: Plan, ref: InputRef, upstream: Mapping[str, tuple[str, ...]]) -> str:
    """Return the id of the one nearest `Graph` that an output rests on; "" where there is none, or several.

    `upstream` leads from run keys to output ids.
    """
    found: set[str] = set()
    waiting, seen = [ref], {ref}
    for each in waiting:
        run = plan.runs[each.run]
        if run.stage.outputs[each.output] == GRAPH:
            found.update(upstream.get(each.run, ())[each.output :][:1])
            continue
        for before in (one for slot in run.inputs.values() for one in slot):
            if before not in seen:
                seen.add(before)
                waiting.append(before)
    return found.pop() if len(found) == 1 else ""
