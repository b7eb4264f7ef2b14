"""The output block of the Graph500 benchmark: fields, their order and their layout.

They are those of the reference code 3.0 (`src/main.c`) and of the specification 2.0, section 9.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ORDERS = ("min", "firstquartile", "median", "thirdquartile", "max")


def order_statistics(values: Sequence[float]) -> list[float]:
    """Return the least, the quartiles and the greatest; a quartile is the mean of the two nearest."""
    ordered, last = sorted(values), len(values) - 1
    return [
        ordered[0],
        (ordered[last // 4] + ordered[len(values) // 4]) / 2,
        (ordered[last // 2] + ordered[len(values) // 2]) / 2,
        (ordered[last - last // 4] + ordered[last - len(values) // 4]) / 2,
        ordered[last],
    ]


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the sample's standard deviation, which is no number for a single value."""
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, math.nan
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def harmonic_mean_and_error(slowness: Sequence[float]) -> tuple[float, float]:
    """Return the harmonic mean of rates, given as seconds per edge, and its standard error.

    The error is that of N. Norris, The Annals of Mathematical Statistics 11 (1940), p. 445: s / (m^2
    sqrt(n - 1)) with mean m and standard deviation s of the seconds per edge.
    """
    mean, deviation = mean_and_deviation(slowness)
    error = deviation / (mean**2 * math.sqrt(len(slowness) - 1)) if len(slowness) > 1 else math.nan
    return 1 / mean, error


RANKED = "bfs  harmonic_mean_TEPS"
"""The field that ranks, which the reference code marks."""

UNKNOWN = -1.0
"""What stands for a validation time that is not known, as in the reference code without validation."""


@dataclass(frozen=True)
class Run:
    """What a block is made of; times are in seconds, a list has a value for each search."""

    scale: int
    edge_factor: float
    generation: float | None
    processes: int
    construction: float
    times: Sequence[float]
    edges: Sequence[int]
    validations: Sequence[float]  # or none where they were not timed one by one
    mean_validation: float = UNKNOWN


def fields(run: Run) -> dict[str, float]:
    """Give the fields by name, in the order of the reference code."""
    found: dict[str, float] = {"SCALE": run.scale, "edgefactor": run.edge_factor, "NBFS": len(run.times)}
    if run.generation is not None:
        found["graph_generation"] = run.generation
    found |= {"num_mpi_processes": run.processes, "construction_time": run.construction}
    found |= _statistics("bfs  ", "time", run.times)
    found |= _statistics("", "nedge", run.edges)
    slowness = [time / max(count, 1) for time, count in zip(run.times, run.edges, strict=True)]
    rates = [1 / value for value in reversed(order_statistics(slowness))]
    found |= {f"bfs  {name}_TEPS": rate for name, rate in zip(ORDERS, rates, strict=True)}
    found[RANKED], found["bfs  harmonic_stddev_TEPS"] = harmonic_mean_and_error(slowness)
    if run.validations:
        return found | _statistics("bfs  ", "validate", run.validations)
    names = (*ORDERS, "mean", "stddev")
    return found | {
        f"bfs  {name}_validate": run.mean_validation if name == "mean" else UNKNOWN for name in names
    }


def _statistics(label: str, unit: str, values: Sequence[float]) -> dict[str, float]:
    named = zip(
        (*ORDERS, "mean", "stddev"),
        (*order_statistics(values), *mean_and_deviation(values)),
        strict=True,
    )
    return {f"{label}{name}_{unit}": value for name, value in named}


def lines(found: Mapping[str, float]) -> list[str]:
    """Lay the fields out as the reference code prints them."""
    return [_line(name, value) for name, value in found.items()]


def printed(name: str, value: float) -> str:
    """Print a value with as many digits as the reference code does."""
    return f"{value:.11g}" if name.endswith("_nedge") else f"{value:.6g}"


def _line(name: str, value: float) -> str:
    start = f"{name}:".ljust(32)
    if name == RANKED:
        start = f"{start[:29]}!{start[30:]}"
    return start + printed(name, value)


def run_of(benchmark: Mapping[str, Any], prepared: float, searches: Sequence[Mapping[str, Any]]) -> Run:
    """Take what a `graph500` stage measured; `prepared` are the milliseconds before its searches."""
    return Run(
        scale=benchmark["scale"],
        edge_factor=benchmark["edge_factor"],
        generation=benchmark["generation_milliseconds"] / 1e3,
        processes=benchmark["processes"],
        construction=(benchmark["construction_milliseconds"] + prepared) / 1e3,
        times=[search["milliseconds"] / 1e3 for search in searches],
        edges=[search["input_edges"] for search in searches],
        validations=[search["validate_milliseconds"] / 1e3 for search in searches],
    )


def plain(value: float) -> float | None:
    """Leave out what JSON does not have."""
    return value if math.isfinite(value) else None
