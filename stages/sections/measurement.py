"""Times and rates of traversals, the frontier of a typical search, the spread over sources."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from gravel.stages.artifacts import Measurement
from gravel.stages.sections.rates import (
    ARC_RATE,
    EDGE_RATE,
    geometric_mean,
    harmonic_mean,
    mean_rate,
    milliseconds,
    rates,
)
from gravel.stages.sections.section import Made, Runs, Section, table
from gravel.stages.sections.studies import Member, Study, is_batched


def measurement_sections(measured: Runs) -> list[Made | None]:
    """Make the table of all measurements and that of what ran.

    Searches that ran together stand in a table of their own, since their rates compare with each other alone.
    """
    batched = [(label, one) for label, one in measured if is_batched(one)]
    single = [(label, one) for label, one in measured if not is_batched(one)]
    return [
        _table(single) if single else None,
        ran_table(single),
        batches_table(batched) if batched else None,
    ]


def _row(label: str, one: Measurement) -> list[Any]:
    times = milliseconds(one)
    by_edge, by_arc = rates(one.searches, "edges"), rates(one.searches, "arcs")
    mapped = rates(one.searches, "edges", mapped_back=True)
    # Labels of an order are brought back; where there was none, nothing is.
    back = median(search["map_back_milliseconds"] for search in one.searches) or None if times else None
    return [
        label,
        one.algorithm,
        one.strategy,
        one.backend,
        len(times),
        median(times) if times else None,
        mean_rate(one),
        harmonic_mean(mapped) if mapped and back else None,
        geometric_mean(by_edge) if by_edge else None,
        geometric_mean(by_arc) if by_arc else None,
        back,
        one.prepare_milliseconds,
    ]


def _table(members: Runs) -> Made:
    rows = [_row(label, one) for label, one in members]
    about = [
        any(row[6] is not None for row in rows)
        and "GTEPS counts each distinct undirected edge that was reached once. The arc rate counts stored "
        "arcs, as Gunrock and Merrill et al. (2012) do.",
        any(row[10] for row in rows)
        and "Results are mapped back to the vertices of the input. Rates are given with and without this.",
        *remarks(members),
    ]
    return table(
        "Traversal times and rates",
        about,
        f"run | algorithm | strategy | backend | searches | median ms | {EDGE_RATE}, harmonic mean | "
        f"{EDGE_RATE}, harmonic mean, mapped back | {EDGE_RATE}, geometric mean | {ARC_RATE}, geometric "
        "mean | mapping back, median ms | preparation ms",
        rows,
        result=100,
        summed_up_by=("experiments", "every strategy"),
    )


def batches_table(members: Runs) -> Made:
    """Make the table of searches that ran together."""
    rows = []
    for label, one in members:
        sizes = [search["batch"] for search in one.searches]
        whole = [search["milliseconds"] * size for search, size in zip(one.searches, sizes, strict=True)]
        taken = sum(milliseconds(one))
        edges = sum(search["edges"] for search in one.searches)
        facts = (label, one.strategy, one.backend, len(sizes), max(sizes), median(whole), taken / len(sizes))
        rows.append([*facts, edges / taken / 1e6 if taken > 0 else None, one.prepare_milliseconds])
    return table(
        "Batches of searches",
        [
            "Many sources were searched at once and shared the arcs that were read. Rates are those of a "
            "whole batch, and do not compare with rates of single searches.",
            *remarks(members),
        ],
        "run | strategy | backend | searches | at once | ms a batch, median | ms a search, share | "
        f"{EDGE_RATE} of whole batches | preparation ms",
        rows,
        result=120,
    )


MAX_NAMED_ROWS = 6
"""Runs that one row names; of more it gives the number, the first and the last."""


def ran_table(members: Runs) -> dict[str, Any] | None:
    """Make the table of what ran, runs of the same code in one row; None where nothing is recorded."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for label, one in members:
        if one.ran:
            options = ", ".join(f"{name}={_option_text(value)}" for name, value in one.ran["options"].items())
            rows.setdefault((one.ran["function"], one.ran["backend"], options), []).append(label)
    if not rows:
        return None
    about = "The function that ran, and the values of all its constants."
    if any("=none" in options for *_, options in rows):
        about += " Where it says `none`, the graph or the device decided."
    if any(len(labels) > 1 for labels in rows.values()):
        about += " Runs in one row ran the same code."
    return table(
        "What ran",
        about,
        "runs | function | backend | constants in force",
        [[_named(labels), *code] for code, labels in rows.items()],
    )


def _named(labels: Sequence[str]) -> str:
    if len(labels) <= MAX_NAMED_ROWS:
        return ", ".join(labels)
    return f"{len(labels):,} runs, {labels[0]} to {labels[-1]}"


def _option_text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


MAX_NAMED = 4
"""Runs that one sentence names; of more it gives the number."""


def remarks(members: Runs) -> list[str]:
    """Say where it was measured, why each strategy was taken and what runs noted, alike runs together."""
    found = [f"Measured on {hardware}." for hardware in sorted({one.hardware for _, one in members})]
    sentences: dict[str, list[str]] = {}
    for label, one in members:
        sentences.setdefault(f"{one.strategy}, because {one.reason}", []).append(label)
        for note in one.notes:
            sentences.setdefault(note.removesuffix("."), []).append(label)
    for sentence, labels in sentences.items():
        named = ", ".join(labels) if len(labels) <= MAX_NAMED else f"{len(labels)} runs"
        if len(members) <= MAX_NAMED or not sentence.endswith("because asked for"):
            found.append(f"{named}: {sentence}.")
    return found


def not_run_sections(reasons: Mapping[str, str]) -> list[Made]:
    """List the stage runs that this machine could not run; no other section has them."""
    return [
        table(
            "Not run on this machine",
            "These stage runs of the workflow are in no table above. No other code ran instead of them.",
            ["run", "not run"],
            [[label, reason] for label, reason in reasons.items()],
            result=410,
        )
    ]


def preparation_sections(studies: Sequence[Study]) -> list[Made]:
    """Set each run against those of its graph and backend that prepare less; none where there are none."""
    rows: list[list[Any]] = []
    for study in studies:
        if len(study.members) < 2:
            continue
        for member in study.members:
            against, paid = _paid(member, study.like(member))
            facts = (study.graph, member.name, member.one.prepare_milliseconds, member.one.order_milliseconds)
            figures = (member.one.order_find_milliseconds, search_milliseconds(member), against)
            rows.append([*facts, *figures, "never" if paid == math.inf else paid])
    if not rows:
        return []
    return [
        table(
            "When preparation has paid for itself",
            [
                "Preparation is what a strategy does once for a graph in memory: structures, its own "
                "orders, workspace.",
                any(row[3] is not None for row in rows)
                and "The order of a `reorder` stage was found and applied in memory, and timed separately.",
                "Times of searches are medians.",
                any(
                    search["map_back_milliseconds"]
                    for study in studies
                    for each in study.members
                    for search in each.one.searches
                )
                and "They include mapping labels back.",
                "After the given number of searches, preparation, order and searches together take no "
                "longer than those of any run that prepares less. `against` names the last of these to be "
                "overtaken. Only runs with the same graph, output and backend compare. Times of earlier "
                "stages are in the table of stage runs.",
            ],
            "graph | run | preparation ms | order ms | of that to find it | ms a search, mapped back | "
            "against | paid after searches",
            rows,
        )
    ]


def _paid(member: Member, others: Sequence[Member]) -> tuple[str, float | None]:
    """Name the run that is overtaken last and after how many searches; nothing where none prepares less."""
    cheaper = [
        other
        for other in others
        if other.one.backend == member.one.backend
        and preparation_milliseconds(other) < preparation_milliseconds(member)
    ]
    if not cheaper:
        return "", None
    # Of those that are never overtaken, the fastest says most.
    last = max(cheaper, key=lambda other: (paid_after(member, other), -search_milliseconds(other)))
    return last.name, paid_after(member, last)


def preparation_milliseconds(member: Member) -> float:
    """Return what a strategy and the order of its graph take once."""
    return member.one.prepare_milliseconds + (member.one.order_milliseconds or 0.0)


def search_milliseconds(member: Member) -> float:
    """Return the median time of a search together with mapping its labels back."""
    return float(
        median(search["milliseconds"] + search["map_back_milliseconds"] for search in member.one.searches)
    )


def paid_after(member: Member, cheaper: Member) -> float:
    """Count the searches after which `member` is no slower in all than `cheaper`; infinity for never."""
    more = preparation_milliseconds(member) - preparation_milliseconds(cheaper)
    saved = search_milliseconds(cheaper) - search_milliseconds(member)
    return math.ceil(more / saved) if saved > 0 else math.inf


SECTIONS = (
    Section(rank=110, make=measurement_sections, needs=("measured",)),
    Section(rank=180, make=not_run_sections, needs=("not_run",)),
    Section(rank=113, make=preparation_sections, needs=("studies",)),
)
