"""The texts below the fields of parameter models, as descriptions; read only when somebody asks for them.

Pydantic can read them whenever a model is made, which costs every run a tenth of its start.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel


@cache
def documented(model: type[BaseModel]) -> type[BaseModel]:
    """Return the model itself, with a description for each field, here and in the models of its fields."""
    for field in model.model_fields.values():
        for inner in models_in(field.annotation):
            if inner is not model:
                documented(inner)
    for owner in model.__mro__:
        if owner is not BaseModel and issubclass(owner, BaseModel):
            for name, text in _texts(owner).items():
                field = model.model_fields[name]
                field.description = field.description or text
    model.model_rebuild(force=True)
    return model


def _texts(model: type[BaseModel]) -> dict[str, str]:
    """Read the text after each annotated name of a class; nothing where its source is not at hand."""
    try:
        definition = ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return {}
    if not isinstance(definition, ast.ClassDef):
        return {}
    found = {}
    for field, after in zip(definition.body, definition.body[1:], strict=False):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            text = after.value.value
            if isinstance(text, str) and field.target.id in model.model_fields:
                found[field.target.id] = inspect.cleandoc(text)
    return found


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models inside a type: of unions, lists, mappings and annotated types."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)
