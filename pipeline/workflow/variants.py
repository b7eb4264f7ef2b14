"""An entry's parameters under every choice of the axes that they name."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from pipeline.errors import WorkflowError
from pipeline.workflow.entries import RESERVED, Draft
from pipeline.workflow.faults import Faults
from pipeline.workflow.files import place_files
from pipeline.workflow.model import Variant
from pipeline.workflow.names import suggest
from pipeline.workflow.nodes import Text
from pipeline.workflow.substitution import fill, references
from pipeline.workflow.validation import validate
from pipeline.workflow.values import Values, malformed

__all__ = ["MOST_RUNS", "axes_of", "make_variants"]

MOST_RUNS = 20_000  # of one workflow; planning takes about a millisecond each
MOST_VALUES = 1_000_000  # filled in over all variants of one entry


def axes_of(draft: Draft, values: Values, source: Text, faults: Faults) -> tuple[str, ...] | None:
    """Return the axes that an entry's parameters name, in the order of the matrix; None after a fault."""
    wanted: set[str] = set()
    sound = True
    for reference in references(draft.parameters, source):
        name = reference.name
        if name is None:
            faults.add(*malformed(reference.text), reference.location)
        elif name in values.broken:
            pass
        elif name in values.matrix:
            if name in draft.gathers:
                message = f"`over` gathers the axis {name!r}, so no one value of it is known here"
                faults.add(
                    message, "leave the reference out, or leave the axis out of `over`", reference.location
                )
            else:
                wanted.add(name)
                continue
        elif name not in values.parameters:
            hint = suggest(name, values.names, "parameter or matrix axis")
            faults.add(f"there is no parameter or matrix axis {name!r}", hint, reference.location)
        else:
            continue
        sound = False
    return tuple(axis for axis in values.matrix if axis in wanted) if sound else None


def make_variants(
    draft: Draft, axes: tuple[str, ...], values: Values, folder: Path, source: Text, faults: Faults
) -> dict[tuple[int, ...], Variant]:
    """Fill in and validate the parameters for each choice; faults are noted and leave their variant out."""
    found: dict[tuple[int, ...], Variant] = {}
    also = [*RESERVED, *draft.stage.inputs]
    count = 1
    for axis in axes:
        count *= len(values.matrix[axis])
    if count > MOST_RUNS:
        message = f"{draft.name!r} would run {count:,} times, and a workflow has at most {MOST_RUNS:,} runs"
        faults.add(message, "give the matrix fewer values", draft.location)
        return found
    filled_in = 0
    for choice in itertools.product(*(range(len(values.matrix[axis])) for axis in axes)):
        chosen = {axis: values.matrix[axis][at] for axis, at in zip(axes, choice, strict=True)}
        try:
            filled = fill(draft.parameters, {**values.parameters, **chosen}, source)
        except WorkflowError as error:
            for problem in error.problems:
                faults.add_problem(problem)
            return found
        filled_in += filled.size
        if filled_in > MOST_VALUES:
            faults.add(
                f"the variants of {draft.name!r} have more than {MOST_VALUES:,} values", None, draft.location
            )
            return found
        variant = _variant(draft, filled.value, folder, source, faults, also)
        if variant is not None:
            found[choice] = variant
    return found


def _variant(
    draft: Draft, data: Mapping[str, object], folder: Path, source: Text, faults: Faults, also: list[str]
) -> Variant | None:
    plain = dict(data)
    checked = validate(draft.stage, plain, draft.parameters, draft.location, source, also)
    if isinstance(checked, list):
        for problem in checked:
            faults.add_problem(problem)
        return None
    try:
        return Variant(
            *place_files(draft.stage, checked, plain, folder, draft.parameters, source, draft.location)
        )
    except (ValidationError, ValueError, OSError) as error:
        faults.add(f"a file of {draft.name!r} cannot be named: {error}", None, draft.location)
        return None
