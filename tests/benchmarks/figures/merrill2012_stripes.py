"""Merrill, Garland, Grimshaw, PPoPP 2012: graphs striped over GPUs."""

from __future__ import annotations

from statistics import fmean

from tests.benchmarks.figures.model import (
    FOUR,
    TWO,
    Claim,
    Figure,
    Reports,
    Run,
    above,
    below,
    near,
    sets,
)
from tests.benchmarks.figures.reports import Missing

ONE_AND_TWO = ("--where", "ranks=1", "--where", "ranks=2")

STRIPES_RUNS = (
    Run(
        "stripes",
        "papers/merrill_striped",
        sets(side=8, cube=4, scale=6, sizes="[100, 200]", degrees="[8, 64]", sources=1),
        sets(
            side=100,
            cube=40,
            scale=18,
            sizes="[250000, 500000]",
            degrees="[8, 64]",
            sources=4,
            backend="cuda",
        ),
        40,
        FOUR,
    ),
    Run(
        "stripes_two",
        "papers/merrill_striped",
        (*sets(side=8, cube=4, scale=6, sizes="[100]", degrees="[8]", sources=1, most=2), *ONE_AND_TWO),
        (
            *sets(side=100, cube=40, scale=18, sizes="[250000]", degrees="[8]", sources=4, most=2),
            *sets(backend="cuda"),
            *ONE_AND_TWO,
        ),
        60,
        TWO,
    ),
)


def _gain(ranks: int, stated: float) -> Claim:
    def measured(reports: Reports) -> float:
        if "took turns" in reports["summary"].about("Rates over stripes with more ranks"):
            raise Missing("ranks took turns")
        rates = reports["summary"].data("Rates over stripes with more ranks")["distance"]["rmat"]
        return float(rates[ranks - 1] / rates[0])

    return Claim(
        f"rmat, {ranks} GPUs over one",
        f"{stated}",
        "section 6.2",
        near(stated),
        "summary › Rates over stripes with more ranks › distance › rmat",
        measured,
        run="stripes_two" if ranks == 2 else "",
        waits={2: TWO, 3: "three GPUs", 4: FOUR}[ranks],
    )


def _local_duplicates(reports: Reports, ranks: int) -> float:
    """Return a share of the neighbours that a rank gathers: those that it gathered shortly before."""
    label = f"bfs[graph=rmat,ranks={ranks},output=distance]"
    for row in reports["summary"].rows("Searches over stripes"):
        if row["run"] == label:
            return float(row["local duplicates, %"])
    raise Missing(f"no search {label}")


def _sized(reports: Reports, degree: int) -> list[float]:
    return list(
        reports["summary"].data("Rates over stripes by size and degree")[f"{degree}, distance"].values()
    )


STRIPES = (
    Figure(
        10,
        "figure 11",
        "Rates with one to four GPUs",
        "stripes",
        (
            _gain(2, 1.5),
            _gain(3, 2.1),
            _gain(4, 2.5),
            Claim(
                "local duplicates, 2 GPUs over one, rmat",
                "reduced",
                "section 6.2",
                below(1),
                "summary › Searches over stripes › local duplicates, %",
                lambda reports: _local_duplicates(reports, 2) / _local_duplicates(reports, 1),
                run="stripes_two",
                waits=TWO,
            ),
        ),
    ),
    Figure(
        11,
        "figure 12",
        "Four GPUs by size and degree",
        "stripes",
        (
            Claim(
                "degree 64 over degree 8",
                "significantly better",
                "section 6.2",
                above(1.5),
                "summary › Rates over stripes by size and degree",
                lambda reports: fmean(_sized(reports, 64)) / fmean(_sized(reports, 8)),
            ),
            Claim(
                "best over worst size, degree 64",
                "little impact",
                "section 6.2",
                below(1.5),
                "summary › Rates over stripes by size and degree",
                lambda reports: max(_sized(reports, 64)) / min(_sized(reports, 64)),
            ),
        ),
    ),
)
