"""Whether what a plugin calls a stage can be one."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from gravel.pipeline.plugins.reserved_keys import RESERVED
from gravel.stages import artifacts
from gravel.stages.artifact import Artifact
from gravel.stages.stage import Parameters, Slot, Stage

__all__ = ["KINDS", "faults_of"]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

KINDS = tuple(name for name, kind in Artifact.kinds.items() if kind.__module__ == artifacts.__name__)
"""The kinds of artifact that there are; a cache is read without the plugins that filled it."""


def faults_of(stage: Any) -> list[str]:
    """Say what is wrong with the declarations of a `Stage`, in plain sentences; empty if nothing is.

    Dataclasses do not check types, so nothing is taken for granted.
    """
    if not isinstance(stage.name, str) or not NAME.fullmatch(stage.name):
        return [f"the name {stage.name!r} has other characters than letters, digits, _ and -"]
    faults = []
    if type(stage.version) is not int or stage.version < 1:
        faults.append(f"`version` is {stage.version!r}, and a whole number from 1 on is expected")
    if not isinstance(stage.about, str) or not stage.about.strip():
        faults.append("`about` is empty, and one sentence is expected")
    if not (isinstance(stage.parameters, type) and issubclass(stage.parameters, Parameters)):
        faults.append("`parameters` is no subclass of gravel.stages.stage.Parameters")
    else:
        faults += _parameter_faults(stage)
    faults += _slot_faults(stage)
    if not isinstance(stage.outputs, tuple) or not stage.outputs:
        faults.append(f"`outputs` is {stage.outputs!r:.80}, and a tuple of kinds is expected")
    else:
        faults += [f"`outputs` names {kind!r}; {_KINDS}" for kind in stage.outputs if kind not in KINDS]
    faults += [f for name in ("run", "estimate") for f in _function_faults(name, getattr(stage, name))]
    return faults


_KINDS = f"the kinds of artifact are {', '.join(KINDS)}"

_KEYS = ("with",)
"""Keys that an entry may have besides those of `RESERVED` and parameters."""


def _parameter_faults(stage: Stage) -> list[str]:
    fields = stage.parameters.model_fields
    taken = {*RESERVED, *_KEYS, *(stage.inputs if isinstance(stage.inputs, dict) else ())}
    faults = [_taken(stage, name) for name in fields if name in taken]
    unknown = [name for name in stage.hidden if name not in fields]
    return faults + [f"`hidden` names {name!r}, which is no parameter" for name in unknown]


def _taken(stage: Stage, name: str) -> str:
    """Say where a parameter stands that has the name of a key of entries: its stage would never get it."""
    subject = f"the parameter {name!r}"
    for kind in stage.parameters.__mro__:
        if name in vars(kind).get("__annotations__", {}):
            subject += _place_of(kind, name)
            break
    return (
        f"{subject} has a name that a workflow reads otherwise: in an entry, `{name}` is no parameter; "
        f"rename it, to `{name}_value` perhaps"
    )


def _place_of(kind: type, name: str) -> str:
    """Return " (file:line)" of a field of a class, nothing if its source cannot be read."""
    import ast

    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    try:
        tree = ast.parse(Path(str(file)).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__:
            for part in node.body:
                if isinstance(part, ast.AnnAssign) and ast.unparse(part.target) == name:
                    return f" ({file}:{part.lineno})"
    return ""


def _slot_faults(stage: Stage) -> list[str]:
    if not isinstance(stage.inputs, dict) or not all(
        isinstance(slot, Slot) for slot in stage.inputs.values()
    ):
        return [f"`inputs` is {stage.inputs!r:.80}, and a dict of names to Slot is expected"]
    faults = []
    for name, slot in stage.inputs.items():
        if not name.isidentifier():
            faults.append(f"the slot {name!r} cannot be an argument of `run`")
        if not isinstance(slot.kinds, tuple) or not slot.kinds:
            faults.append(f"the slot {name!r} takes {slot.kinds!r:.80}, and a tuple of kinds is expected")
        else:
            faults += [
                f"the slot {name!r} takes {kind!r}; {_KINDS}" for kind in slot.kinds if kind not in KINDS
            ]
    return faults


def _function_faults(name: str, function: Any) -> list[str]:
    """Workers find functions by module and name, so lambdas and inner functions cannot travel."""
    where = getattr(function, "__qualname__", None)
    if not callable(function) or where is None:
        return [f"`{name}` is {function!r:.80}, and a function is expected"]
    if "<" in where:
        return [f"`{name}` is {where}, which workers cannot find; define it with def at the top of its file"]
    return []
