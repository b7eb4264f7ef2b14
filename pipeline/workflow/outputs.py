"""The section `outputs` of a workflow: files that results are written to after each run."""

from __future__ import annotations

from collections.abc import Collection

from gravel.pipeline.core.names import suggest
from gravel.pipeline.workflow.model import OutputFile
from gravel.pipeline.workflow.nodes import MapNode, is_null, to_text
from gravel.pipeline.workflow.values import Scope, listed

_LIKE = "write it like outputs: {components: 'out/{dataset}.parquet'}"


def read_outputs(scope: Scope, entries: Collection[str]) -> tuple[OutputFile, ...]:
    """Return the files that a workflow names, each with the entry whose results it gets; faults are noted."""
    node = scope.top.items.get("outputs")
    if node is None or is_null(node):
        return ()
    if not isinstance(node, MapNode):
        scope.fault(node, "`outputs` is no mapping of entries to names of files", _LIKE)
        return ()
    found = []
    for entry, item in node.items.items():
        if entry not in entries:
            hint = suggest(entry, entries, "entry")
            scope.fault(node.keys[entry], f"`outputs` names {entry!r}, and there is no such entry", hint)
            continue
        filled = scope.fixed(item, "an axis stands in single braces, as in {dataset}")
        for name, where in listed(filled.value, item) if filled is not None else ():
            if isinstance(name, str) and name.strip():
                found.append(OutputFile(entry, name, scope.at(where)))
            else:
                scope.fault(where, f"{to_text(name)!r:.60} is no name of a file", _LIKE)
    return tuple(found)
