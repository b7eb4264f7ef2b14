"""An entry's parameters under every choice of the axes that they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from gravel.pipeline.plugins.reserved_keys import RESERVED
from gravel.pipeline.workflow.entries import Draft
from gravel.pipeline.workflow.files import place_files
from gravel.pipeline.workflow.model import Variant
from gravel.pipeline.workflow.substitution import fill, references
from gravel.pipeline.workflow.validation import validate
from gravel.pipeline.workflow.values import MAX_RUNS, MAX_VALUES
from gravel.stages.artifact import Json

__all__ = ["axes_of", "make_variants"]


def axes_of(draft: Draft) -> tuple[str, ...] | None:
    """Return the axes on which an entry's parameters depend, in the matrix's order; None after a fault."""
    scope, values = draft.scope, draft.scope.values
    wanted: list[str] = []
    sound = True
    for reference in references(draft.parameters, scope.source):
        name = reference.name
        if name is None or not values.known(name) or name in values.broken:
            scope.unknown(reference, "parameter or matrix axis", values.names)
            sound = False
        elif name in values.varying:
            wanted.append(name)
            gathered = [axis for axis in values.varying[name].axes if axis in draft.entry.gathers]
            if gathered:
                message = f"`over` gathers the axis {gathered[0]!r}, so no one value of it is known here"
                hint = "leave the reference out, or leave the axis out of `over`"
                scope.fault(reference.location, message, hint)
                sound = False
    return values.axes_behind(wanted) if sound else None


def make_variants(
    draft: Draft, axes: tuple[str, ...], kinds: Mapping[str, Sequence[str]]
) -> dict[tuple[int, ...], Variant]:
    """Fill in and validate the parameters for each choice; faults are noted and leave their variant out.

    `kinds` are those of the entry's inputs by slot.
    """
    found: dict[tuple[int, ...], Variant] = {}
    entry, scope, values = draft.entry, draft.scope, draft.scope.values
    also = [*RESERVED, *entry.stage.inputs]
    count = values.axes.count(axes)
    if count > MAX_RUNS:
        message = f"{entry.name!r} would run {count:,} times, and a workflow has at most {MAX_RUNS:,} runs"
        scope.fault(entry.location, message, "give the matrix fewer values")
        return found
    named = [each.name for each in references(draft.parameters, scope.source)]
    varying = [name for name in dict.fromkeys(named) if name is not None and name in values.varying]
    size = 0
    with scope.faults.noted():
        for choice in values.axes.choices(axes):
            chosen = {**values.parameters, **values.at(varying, axes, choice)}
            filled = fill(draft.parameters, chosen, scope.source)
            size += filled.size
            if size > MAX_VALUES:
                message = f"the variants of {entry.name!r} have more than {MAX_VALUES:,} values"
                scope.fault(entry.location, message)
                return found
            variant = _variant(draft, filled.value, also, kinds)
            if variant is not None:
                found[choice] = variant
    return found


def _variant(
    draft: Draft, data: dict[str, Json], also: list[str], kinds: Mapping[str, Sequence[str]]
) -> Variant | None:
    checked = validate(draft, data, also, kinds)
    if isinstance(checked, list):
        draft.scope.faults.add_all(checked)
        return None
    try:
        return Variant(*place_files(draft, checked, data))
    except (ValidationError, ValueError, OSError) as error:
        reason = error.errors(include_url=False)[0]["msg"] if isinstance(error, ValidationError) else error
        message = f"a file of {draft.entry.name!r} cannot be named: {reason}"
        draft.scope.fault(draft.entry.location, message)
        return None
