"""Dataclasses that are kept as JSON. Times are seconds since 1970 in memory and ISO 8601 in UTC on disk."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, PlainSerializer, TypeAdapter

from gravel.pipeline.schedule.times import from_iso, iso


def _seconds(moment: Any) -> Any:
    return from_iso(moment) if isinstance(moment, str) else moment


DueTime = Annotated[int, BeforeValidator(_seconds), PlainSerializer(iso)]
Moment = Annotated[float, BeforeValidator(_seconds), PlainSerializer(iso)]


class Record:
    """What a dataclass of Pydantic needs to be kept."""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        data: dict[str, Any] = TypeAdapter(type(self)).dump_python(self, mode="json")
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Read what `to_json` wrote; raises ValueError for anything else."""
        lacking = {each.name for each in fields(cls)} - data.keys()  # type: ignore[arg-type]
        if lacking:
            raise ValueError(f"it lacks {', '.join(sorted(lacking))}")
        return TypeAdapter(cls).validate_python(data)
