"""gravel runs: the runs on record, and the table of one."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import click

from gravel.pipeline.cli.completion import runs as complete_runs
from gravel.pipeline.cli.options import cache_option, json_option, print_json
from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.core.errors import DamagedArtifact, RequestError
from gravel.pipeline.progress.tables import text_table
from gravel.pipeline.records.past_runs import find_run, format_of, list_runs, run_folders
from gravel.pipeline.records.record import FORMAT
from gravel.pipeline.store.location import find_cache
from gravel.pipeline.workflow.nodes import to_text

if TYPE_CHECKING:
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.records import ArtifactRecord
    from gravel.stages.artifact import Json

COUNTS = ("computed", "cached", "failed")
VERIFYING = ("verify", "graph500")
"""Stages that fail where a result breaks a rule."""

MAX_NAMES = 3  # entries named in the column of what was computed


@click.command()
@click.argument("run", required=False, shell_complete=complete_runs)
@click.option("--to", "target", metavar="OUT", help="Of one RUN: the file to write, .csv or .parquet.")
@json_option
@click.option(
    "-n", "limit", type=click.IntRange(1), default=20, show_default=True, help="The number of runs to list."
)
@click.option("--all", "exports", is_flag=True, help="List what exports and gravel.graph computed, too.")
@cache_option
def command(
    run: str | None, target: str | None, as_json: bool, limit: int, exports: bool, cache_path: str | None
) -> None:
    """List the runs of this cache, the newest first: workflow, time, what was computed, verified, page.

    Of one RUN (`last` is the newest) it gives a table with a row for each stage run: its axes, its state, its
    seconds, and key figures of its result.
    """
    root = find_cache(cache_path)
    if run is not None:
        _show_run(run, root, target, as_json=as_json)
        return
    if target is not None:
        raise RequestError("--to writes the table of one run", hint="name it: gravel runs last --to run.csv")
    records = list_runs(root, exports=exports)[:limit]
    if as_json:
        print_json([_row(record) for record in records])
        return
    newer = [folder.name for folder in run_folders(root) if format_of(folder) > FORMAT]
    if newer:
        names = ", ".join(newer[:3])
        click.echo(f"note: {len(newer)} runs of a newer gravel are not listed: {names}", err=True)
    if not records:
        click.echo(f"no run is on record in {root}")
        return
    table = [["RUN", "WORKFLOW", "STATE", "TOOK", "COMPUTED", "VERIFIED", "PAGE"]]
    for record in records:
        row = _row(record)
        head = [row["run"], row["workflow"] or "-", row["state"], format_seconds(row["seconds"])]
        verified = {True: "yes", False: "FAILED", None: "-"}[row["verified"]]
        table.append([*head, _computed(record), verified, _page_text(row["report"])])
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    click.echo("\n".join(fitting(table, width)))


def fitting(table: list[list[str]], width: int) -> list[str]:
    """Write the table of runs: in a narrow terminal without the page and with shorter cells; 0 is wide."""
    lines = text_table(table, right=(3,))
    if not width or max(map(len, lines)) <= width:
        return lines
    rows = [row[:-1] for row in table]
    over = max(map(len, text_table(rows, right=(3,)))) - width
    longest = max(len(row[4]) for row in rows) - max(0, over)
    cut = [[*row[:4], _cut(row[4], max(8, longest)), *row[5:]] for row in rows]
    return [_cut(line, width) for line in text_table(cut, right=(3,))]


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _show_run(name: str, root: Path, target: str | None, *, as_json: bool) -> None:
    from gravel.pipeline.store.cache import Cache

    _, record = find_run(root, name)
    rows = run_rows(record, Cache(root))
    if as_json:
        print_json(rows)
    elif target is not None:
        is_new = write_run_table(rows, Path(target))
        click.echo(f"{len(rows):,} stage runs -> {target}{'' if is_new else ' (unchanged)'}")
    else:
        used = [name for name in rows[0] if any(row[name] is not None for row in rows)]
        kept = [name for name in used if name not in LEFT_OUT]
        cells = [[_cell(name, row[name]) for name in kept] for row in rows]
        right = [at for at, name in enumerate(kept) if not isinstance(rows[0][name], str)]
        click.echo("\n".join(text_table([[name.upper() for name in kept], *cells], right=right)))


LEFT_OUT = ("run", "entry", "bytes", "error")
"""Columns of a run's table that only a file gets."""


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name == "seconds":
        return format_seconds(value)
    return (
        f"{value:,.4g}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )


def _row(record: dict[str, Any]) -> dict[str, Any]:
    stages: list[dict[str, Any]] = record["stages"]
    workflow: dict[str, Any] = record["workflow"]
    counts = {name: sum(s["state"] == name for s in stages) for name in COUNTS}
    head = {name: record[name] for name in ("run", "state", "started", "seconds", "report")}
    return {**head, "workflow": workflow["path"], **counts, "verified": _verified(stages)}


def _verified(stages: list[dict[str, Any]]) -> bool | None:
    """Say whether all verifications passed; None if there was none, or one is still to come."""
    states = {stage["state"] for stage in stages if stage["stage"] in VERIFYING} - {"not run", "not needed"}
    if "failed" in states:
        return False
    return True if states and states <= {"computed", "cached"} else None


def _computed(record: dict[str, Any]) -> str:
    """Tell which entries were computed, or failed, and how many stage runs there were."""
    stages: list[dict[str, Any]] = record["stages"]
    done = [stage["entry"] for stage in stages if stage["state"] == "computed"]
    failed = [stage["entry"] for stage in stages if stage["state"] == "failed"]
    text = f"all {len(done)}" if len(done) == len(stages) else f"{len(done)} of {len(stages)}: {_first(done)}"
    return (text if done else "nothing") + (f"; failed: {_first(failed)}" if failed else "")


def _first(entries: list[str]) -> str:
    names = list(dict.fromkeys(entries))
    return ", ".join(names[:MAX_NAMES]) + (", ..." if len(names) > MAX_NAMES else "")


def _page_text(page: str | None) -> str:
    """Write where a page lies, from the current folder if that is shorter; `-` if it is not there."""
    if page is None or not os.path.exists(page):  # noqa: PTH110 (of many runs)
        return "-"
    return min(page, os.path.relpath(page), key=len)


FIGURES = {
    "vertices": "int64",
    "arcs": "int64",
    "searches": "int64",
    "reached": "float64",
    "milliseconds": "float64",
    "gteps": "float64",
    "components": "int64",
    "largest": "int64",
}
"""Key figures: `reached` and `milliseconds` are medians of the searches, `gteps` is the rate of all of them
(distinct edges), `largest` counts the vertices of the largest component."""


def run_rows(record: Mapping[str, Json], cache: Cache) -> list[dict[str, Json]]:
    """Return a row for each stage run of a run's record; a figure that a result has not is None."""
    axes = list(dict.fromkeys(axis for stage in record["stages"] for axis in stage["coordinates"]))
    return [
        {
            "run": record["run"],
            "key": stage["key"],
            "entry": stage["entry"],
            **{f"axis {axis}" if axis in _OWN else axis: _axis(stage, axis) for axis in axes},
            "stage": stage["stage"],
            "state": stage["state"],
            "seconds": stage["seconds"],
            "bytes": stage["bytes"],
            **dict.fromkeys(FIGURES),
            **_figures(stage["outputs"], cache),
            "error": stage["error"],
        }
        for stage in record["stages"]
    ]


_OWN = frozenset(("run", "key", "entry", "stage", "state", "seconds", "bytes", "error", *FIGURES))


def _axis(stage: Mapping[str, Json], axis: str) -> str | None:
    value = stage["coordinates"].get(axis)
    return None if value is None else to_text(value)


def _figures(outputs: Sequence[str], cache: Cache) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for output in outputs:
        record = cache.find(output)
        if record is not None:
            with suppress(DamagedArtifact):  # the next run finds that, too
                found |= _figures_of(record, cache)
    return found


def _figures_of(record: ArtifactRecord, cache: Cache) -> dict[str, Json]:
    extent = record.extent
    if record.kind == "Measurement":
        return _of_searches(record.attributes["searches"])
    found: dict[str, Json] = {"vertices": extent.vertices} if extent.vertices else {}
    if extent.arcs and record.kind not in ("Traversal", "Centrality", "VertexIds"):
        found["arcs"] = extent.arcs
    if "component" in record.arrays:
        import numpy

        component = numpy.asarray(cache.open(record.id).component)  # type: ignore[attr-defined]
        sizes = numpy.bincount(component) if len(component) else component
        found |= {"components": int((sizes > 0).sum()), "largest": int(sizes.max(initial=0))}
    return found


def _of_searches(searches: Sequence[Mapping[str, Any]]) -> dict[str, Json]:
    found: dict[str, Json] = {"searches": len(searches)}
    if not searches:
        return found
    milliseconds = [search["milliseconds"] for search in searches]
    found["milliseconds"] = median(milliseconds)
    if reached := [search["reached"] for search in searches if "reached" in search]:
        found["reached"] = median(reached)
    edges = sum(search.get("edges") or 0 for search in searches)
    if edges and sum(milliseconds):
        found["gteps"] = edges / sum(milliseconds) / 1e6
    return found


def write_run_table(rows: Sequence[Mapping[str, Json]], path: Path) -> bool:
    """Write the rows as CSV or Parquet, with null where there is no value; says whether the file changed.

    Raises RequestError for another ending, and as `write_file` does.
    """
    from gravel.pipeline.export.columns import TEXT, Columns
    from gravel.pipeline.export.writers import write_file

    if path.suffix == ".npz":
        hint = "end the name in .csv or .parquet"
        raise RequestError("the table of a run has texts and gaps, which npz has not", hint=hint)
    numbers = {**FIGURES, "seconds": "float64", "bytes": "int64"}
    dtypes = {name: numbers.get(name, TEXT) for name in rows[0]} if rows else {}

    def batches() -> Iterator[dict[str, Any]]:
        import pyarrow

        kinds = {"int64": pyarrow.int64(), "float64": pyarrow.float64(), TEXT: pyarrow.large_string()}
        yield {name: pyarrow.array([row[name] for row in rows], kinds[kind]) for name, kind in dtypes.items()}

    return write_file(Columns(dtypes, len(rows), batches), path)
