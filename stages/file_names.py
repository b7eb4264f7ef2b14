"""Names of files that are not UTF-8: Python has surrogates for their bytes, YAML and JSON escapes."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import PlainSerializer, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from gravel.stages.urls import visible


def _as_named(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    try:
        return handler(value)
    except ValidationError:
        # Pydantic takes no text with surrogates.
        if isinstance(value, str) and visible(value) != value:
            return value
        raise


FileName = Annotated[str, WrapValidator(_as_named), PlainSerializer(visible, when_used="json-unless-none")]
"""The path or URL of a file."""
