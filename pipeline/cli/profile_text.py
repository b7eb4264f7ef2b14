"""The table that `gravel run --profile` ends with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.progress.text_table import text_table
from gravel.pipeline.records.profile import WHAT, brought, profiles
from gravel.pipeline.records.whole_run import WholeRun, whole_run

if TYPE_CHECKING:
    from gravel.stages.artifact import Json

HEADS = ("stage", "s", "waited", *WHAT, "result", "written at")


def profile_text(record: Mapping[str, Json]) -> str:
    """Return what the time of each computed stage run went into, in seconds."""
    rows: list[tuple[str, ...]] = [HEADS]
    for one in profiles(record):
        rate = "-" if one.write_rate is None else f"{format_bytes(one.write_rate)}/s"
        by_what = (_seconds(one.by_what[what]) for what in WHAT)
        rows.append(
            (one.key, _seconds(one.seconds), _seconds(one.waited), *by_what, format_bytes(one.bytes), rate)
        )
    text = "\n".join(text_table(rows, right=range(1, len(HEADS))))
    ways = ", ".join(f"{format_bytes(size)} {way}" for way, size in brought(record).items() if size)
    if ways:
        text += f"\nInputs that a worker did not have: {ways}."
    whole = whole_run(record)
    if whole is not None:
        text += "\n" + _whole_text(whole)
    return text


def _whole_text(whole: WholeRun) -> str:
    text = (
        f"{whole.seconds:.2f} s in all: {sum(whole.before.values()):.2f} before the first stage "
        f"({_parts(whole.before)}), {whole.stages:.2f} from there to the end of the last, "
        f"{sum(whole.after.values()):.2f} after it ({_parts(whole.after)})"
    )
    return f"{text}; on other threads: {_parts(whole.beside)}" if whole.beside else text


def _parts(parts: Mapping[str, float]) -> str:
    return ", ".join(f"{what} {seconds:.2f}" for what, seconds in parts.items())


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value >= 0.005 else "-"
