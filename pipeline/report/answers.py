"""The top of a page: the answers of a run's reports, or in a sentence why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Json = Any

DONE = ("computed", "cached")
UNCHECKED = "not verified"


MAX_NAMED = 3
"""Data sets that a headline names; it counts the others."""


def headline(record: Mapping[str, Json], reports: Sequence[Mapping[str, Json]]) -> str:
    """Say what failed, or how a run stands that has no report; empty where one answers and nothing failed."""
    stages = record["stages"]
    answered = any(section["kind"] == "answer" for report in reports for section in report["sections"])
    done = sum(run["state"] in DONE for run in stages)
    how = f"{done:,} of {len(stages):,} stage runs are done"
    failed = [run for run in stages if run.get("error")]
    if failed:
        return _failure(failed, record.get("datasets") or (), how)
    if record.get("state") in ("failed", "interrupted"):
        why = f" ({record['problem']})" if record.get("problem") else ""
        return f"The run {'FAILED' if record['state'] == 'failed' else 'was interrupted'}{why}: {how}."
    if answered or any(report["sections"] for report in reports):
        return ""
    if record.get("state") == "running":
        return f"No answer yet: {done:,} of {len(stages):,} stage runs are done."
    if any(run["stage"] == "report" for run in stages):
        return f"No answer: {done:,} of {len(stages):,} stage runs are done, the report is not."
    return f"No report was asked for; {done:,} of {len(stages):,} stage runs are done."


def _failure(failed: Sequence[Mapping[str, Json]], datasets: Sequence[Mapping[str, Json]], how: str) -> str:
    """Say what failed: a result that is wrong before all else, then data sets, then stage runs."""
    wrong = next((run for run in failed if run["stage"] == "verify"), None)
    if wrong is not None:
        searched = next(iter(wrong["upstream"][-1:]), wrong["key"])
        more = f" {len(failed) - 1:,} more stage runs FAILED." if len(failed) > 1 else ""
        return f"Verification FAILED: what {searched} found is wrong.{more}"
    names = [row["name"] for row in datasets if row["state"] == "failed"]
    if names:
        rest = f" and {len(names) - MAX_NAMED:,} more" if len(names) > MAX_NAMED else ""
        what = f"{len(names):,} of {len(datasets):,} data sets FAILED: {', '.join(names[:MAX_NAMED])}{rest}"
    else:
        more = f" and {len(failed) - 1:,} more" if len(failed) > 1 else ""
        what = f"{failed[0]['key']}{more} FAILED"
    return f"{what}; {how}."


def note_verified_runs(
    sections: Sequence[dict[str, Json]], run: Mapping[str, Json], record: Mapping[str, Json]
) -> None:
    """Have an answer say that its measurements were verified where the report itself was not given that.

    A `verify` run that is done has passed: one that finds a mistake fails.
    """
    for section in sections:
        if section["kind"] != "answer" or section["verdict"] != UNCHECKED:
            continue
        number = _verified(run, record)
        if number:
            section["verdict"] = "passed"
            section["title"] = section["title"].replace(f" {UNCHECKED}.", " verified.")
            passed = f"Passed: {number:,} verify run{'' if number == 1 else 's'} of this workflow."
            section["facts"] = [
                [name, passed if name == "checked" else text] for name, text in section["facts"]
            ]


def _verified(report: Mapping[str, Json], record: Mapping[str, Json]) -> int:
    """Count the `verify` runs of all searches that a report shows; none if any search has none."""
    by_key = {run["key"]: run for run in record["stages"]}
    passed: set[str] = set()
    checks = 0
    for run in record["stages"]:
        if run["stage"] == "verify" and run["state"] in DONE:
            checks += 1
            for name in run["upstream"]:
                passed |= {name, *_labels(by_key.get(name))}
    searches = [
        by_key[name] for name in report["upstream"] if by_key.get(name, {}).get("stage") == "traverse"
    ]
    searches = [each for each in searches if each["state"] in DONE]
    good = all(each["key"] in passed or passed & set(_labels(each)) for each in searches)
    return checks if searches and good else 0


def _labels(run: Mapping[str, Json] | None) -> list[str]:
    """Name what a search found; repetitions of it that found the same labels need no checks of their own."""
    outputs = (run or {}).get("outputs") or []
    return outputs[:1] if run is not None and run["stage"] == "traverse" else []
