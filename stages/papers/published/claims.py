"""Numbers that papers state in a sentence, computed the same way from measurements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gravel.stages.papers.published.experiments import Experiment
from gravel.stages.papers.published.model import Claim, Published
from gravel.stages.sections.rates import geometric_mean, harmonic_mean
from gravel.stages.sections.section import table

COLUMN_BITS = 32
"""Bits of a column index of a graph with fewer than 2^32 vertices, which layouts are compared with."""


def claims_table(published: Published, measured: Sequence[Experiment]) -> dict[str, Any] | None:
    """Make the table of the claims that anything was measured for, None if there are none."""
    computing = {
        "speedup": _speedup,
        "change": _change,
        "compression": _compression,
        "weak_slope": _weak_slope,
        "none": _uncomputed,
    }
    found = [
        (claim, values)
        for claim in published.claims
        if (values := computing[claim.compute](claim, measured)) or claim.compute == "none"
    ]
    computed = {claim.paper for claim, values in found if values}
    found = [(claim, values) for claim, values in found if claim.paper in computed]
    if not found:
        return None
    apart = any(claim.own_table is not None for claim, _ in found)
    rows = [
        [
            f"{published.papers[claim.paper]}, {claim.section}",
            claim.claim,
            claim.value,
            *([_by_own_table(claim)] if apart else []),
            *(_summary(values) if values else (None, None, f"not computed: {claim.because}")),
        ]
        for claim, values in found
    ]
    return table(
        "Claims of the papers, computed from this run",
        "Each number here is a ratio of measurements on this machine, over the graphs measured here. "
        "The range is that over graphs; a mean over several graphs has none."
        + (
            " Where a paper's own table does not give the number of its sentence, both are shown."
            if apart
            else ""
        ),
        [
            "paper",
            "claim",
            "paper's number",
            *(["by its own table"] if apart else []),
            "here",
            "range here",
            "computed over",
        ],
        rows,
        result=90,
        compared=_sentences(rows),
    )


def _by_own_table(claim: Claim) -> str | None:
    own = claim.own_table
    return None if own is None else f"{own.value:.2f} ({own.rows})"


def _summary(values: Sequence[tuple[str, float]]) -> list[Any]:
    numbers = [value for _, value in values]
    if len(numbers) == 1:
        return [numbers[0], None, values[0][0]]
    middle = sorted(numbers)[len(numbers) // 2] if len(numbers) % 2 else None
    here = (
        middle
        if middle is not None
        else sum(sorted(numbers)[len(numbers) // 2 - 1 : len(numbers) // 2 + 1]) / 2
    )
    return [here, f"{min(numbers):.3g} to {max(numbers):.3g}", f"median of {len(numbers)} graphs"]


def _uncomputed(claim: Claim, measured: Sequence[Experiment]) -> list[tuple[str, float]]:
    return []


def _speedup(claim: Claim, measured: Sequence[Experiment]) -> list[tuple[str, float]]:
    """Take the harmonic mean over graphs of a time over another."""
    ratios = {
        first.one.graph["digest"]: first.milliseconds / last.milliseconds
        for first in measured
        for last in measured
        if first.fits(claim.match, claim.start)
        and last.fits(claim.match, claim.end)
        and first.one.graph["digest"] == last.one.graph["digest"]
        and first.one.hardware == last.one.hardware
    }
    return [(f"{len(ratios)} graphs", harmonic_mean(list(ratios.values())))] if ratios else []


def _change(claim: Claim, measured: Sequence[Experiment]) -> list[tuple[str, float]]:
    found = []
    for first in measured:
        if not first.fits(claim.match, claim.start):
            continue
        for last in measured:
            if last.fits(claim.match, claim.end) and _alike(first, last, {*claim.start, *claim.end}):
                change = 100 * (last.milliseconds / first.milliseconds - 1)
                found.append((_name(first), change))
    return found


def _alike(first: Experiment, last: Experiment, apart: set[str]) -> bool:
    """Whether two experiments differ in nothing but the facts that a change is about."""
    names = {*first.facts, *last.facts} - apart
    return first.one.graph["digest"] == last.one.graph["digest"] and all(
        first.facts.get(name) == last.facts.get(name) for name in names
    )


def _compression(claim: Claim, measured: Sequence[Experiment]) -> list[tuple[str, float]]:
    found = {}
    for one in measured:
        bits = (one.one.graph.get("rows") or {}).get("bits_per_arc")
        if bits and one.fits(claim.match):
            found[one.one.graph["digest"]] = (_name(one), COLUMN_BITS / bits)
    return list(found.values())


def _weak_slope(claim: Claim, measured: Sequence[Experiment]) -> list[tuple[str, float]]:
    """Fit log(rate) over log(ranks) by least squares; needs graphs that grow with the ranks.

    Rates count the edges of the generator's lists, as the paper's do, where all these lists are known.
    """
    points: dict[int, list[float]] = {}
    sizes: dict[int, set[int]] = {}
    fitting = [one for one in measured if one.facts.get("ranks") is not None and one.fits(claim.match)]
    convention = "generated" if all(one.generated is not None for one in fitting) else "edges"
    for one in fitting:
        ranks, rate = one.facts["ranks"], one.value(convention)
        if rate is None:
            continue
        points.setdefault(int(ranks), []).append(rate)
        sizes.setdefault(int(ranks), set()).add(one.one.graph["vertices"])
    if len(points) < 2 or any(len(each) > 1 for each in sizes.values()):
        return []
    shares = {count: next(iter(each)) / count for count, each in sizes.items()}
    if max(shares.values()) > 1.01 * min(shares.values()):
        return []
    x = [math.log(count) for count in points]
    y = [math.log(geometric_mean(each)) for each in points.values()]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum(
        (a - mean_x) ** 2 for a in x
    )
    counted = "generated" if convention == "generated" else "distinct"
    return [(f"{min(points)} to {max(points)} ranks, {counted} edges", slope)]


def _name(one: Experiment) -> str:
    return one.facts.get("graph", "one graph")


def _sentences(rows: Sequence[Sequence[Any]]) -> tuple[str, ...]:
    return tuple(
        f"{claim}: {number:.3g} in {paper}, {here:.3g} here."
        for paper, claim, number, here, *_ in rows
        if isinstance(here, int | float) and isinstance(number, int | float)
    )
