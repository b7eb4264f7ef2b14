"""Names of layouts as parameters: those that are registered when a value is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_core import PydanticKnownError, core_schema

from gravel.kernels.layouts.registry import layouts


@dataclass(frozen=True)
class LayoutName:
    """Annotates a text that names a layout, or `auto`."""

    def choices(self) -> tuple[str, ...]:
        """Return what may be named."""
        return (*layouts(), "auto")

    def _checked(self, given: Any) -> str:
        choices = self.choices()
        if not isinstance(given, str) or given not in choices:
            quoted = [repr(choice) for choice in choices]
            expected = f"{', '.join(quoted[:-1])} or {quoted[-1]}"
            raise PydanticKnownError("literal_error", {"expected": expected})
        return given

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Check a value against the layouts of that moment."""
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """List the layouts as a literal would."""
        return {"enum": list(self.choices()), "type": "string"}
