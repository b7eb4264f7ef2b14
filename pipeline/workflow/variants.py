"""An entry's parameters under every choice of the axes that they name."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from gravel.pipeline.core.errors import WorkflowError
from gravel.pipeline.core.names import suggest
from gravel.pipeline.plugins.reserved_keys import RESERVED
from gravel.pipeline.workflow.entries import Draft
from gravel.pipeline.workflow.faults import Faults
from gravel.pipeline.workflow.files import place_files
from gravel.pipeline.workflow.model import Variant
from gravel.pipeline.workflow.substitution import fill, references
from gravel.pipeline.workflow.validation import validate
from gravel.pipeline.workflow.values import MAX_RUNS, MAX_VALUES, malformed

__all__ = ["axes_of", "make_variants"]


def axes_of(draft: Draft, faults: Faults) -> tuple[str, ...] | None:
    """Return the axes on which an entry's parameters depend, in the matrix's order; None after a fault."""
    values = draft.values
    wanted: list[str] = []
    sound = True
    for reference in references(draft.parameters, draft.source):
        name = reference.name
        if name is None:
            faults.add(*malformed(reference.text), reference.location)
        elif name in values.broken:
            pass
        elif name in values.varying:
            gathered = [axis for axis in values.varying[name].axes if axis in draft.gathers]
            if gathered:
                message = f"`over` gathers the axis {gathered[0]!r}, so no one value of it is known here"
                faults.add(
                    message, "leave the reference out, or leave the axis out of `over`", reference.location
                )
            else:
                wanted.append(name)
                continue
        elif name not in values.parameters:
            hint = suggest(name, values.names, "parameter or matrix axis")
            faults.add(f"there is no parameter or matrix axis {name!r}", hint, reference.location)
        else:
            continue
        sound = False
    return values.axes_behind(wanted) if sound else None


def make_variants(draft: Draft, axes: tuple[str, ...], faults: Faults) -> dict[tuple[int, ...], Variant]:
    """Fill in and validate the parameters for each choice; faults are noted and leave their variant out."""
    found: dict[tuple[int, ...], Variant] = {}
    values = draft.values
    also = [*RESERVED, *draft.stage.inputs]
    count = values.axes.count(axes)
    if count > MAX_RUNS:
        message = f"{draft.name!r} would run {count:,} times, and a workflow has at most {MAX_RUNS:,} runs"
        faults.add(message, "give the matrix fewer values", draft.location)
        return found
    named = [each.name for each in references(draft.parameters, draft.source) if each.name in values.varying]
    varying = [name for name in dict.fromkeys(named) if name is not None]
    filled_in = 0
    for choice in values.axes.choices(axes):
        try:
            chosen = {**values.parameters, **values.at(varying, axes, choice)}
            filled = fill(draft.parameters, chosen, draft.source)
        except WorkflowError as error:
            for problem in error.problems:
                faults.add_problem(problem)
            return found
        filled_in += filled.size
        if filled_in > MAX_VALUES:
            faults.add(
                f"the variants of {draft.name!r} have more than {MAX_VALUES:,} values", None, draft.location
            )
            return found
        variant = _variant(draft, filled.value, faults, also)
        if variant is not None:
            found[choice] = variant
    return found


def _variant(draft: Draft, data: Mapping[str, object], faults: Faults, also: list[str]) -> Variant | None:
    plain = dict(data)
    origins = {name: origin.location for name, origin in draft.values.origins.items()}
    checked = validate(draft.stage, plain, draft.parameters, draft.location, draft.source, also, origins)
    if isinstance(checked, list):
        for problem in checked:
            faults.add_problem(problem)
        return None
    try:
        return Variant(*place_files(draft, checked, plain))
    except (ValidationError, ValueError, OSError) as error:
        faults.add(f"a file of {draft.name!r} cannot be named: {error}", None, draft.location)
        return None
