"""Predictions of the cost model for the runs that were measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from gravel.stages.artifacts import Links, Measurement
from gravel.stages.charts import Axis, Curves, Line
from gravel.stages.papers.pan2018.link_times import machine_with
from gravel.stages.sections.ranks import in_turns, ranks_of, sent, spent, transport_of
from gravel.stages.sections.section import Made, Runs, Section, figure, table
from gravel.stages.sections.thresholds import Split, run_names, split_of

if TYPE_CHECKING:
    from gravel.kernels.partition.machines import Machine
    from gravel.kernels.partition.model import Prediction, Searching


@dataclass(frozen=True)
class Compared:
    """One run beside its prediction."""

    label: str
    split: Split
    one: Measurement
    prediction: Prediction
    fitted: bool  # the machine's local rates were fitted to this run


def machine_of(one: Measurement) -> Machine:
    """Give the machine that a run's links are taken for."""
    from gravel.kernels.partition.machines import CPU_WORKERS, H200_NCCL, H200_PEER

    if one.backend != "cuda":
        return CPU_WORKERS
    return H200_NCCL if transport_of(one) == "nccl" else H200_PEER


def has_rank_records(one: Measurement) -> bool:
    """Return whether its searches say what their levels went to; not all of one rank alone do."""
    return all("ranks" in search for search in one.searches)


def computed(one: Measurement) -> float:
    """Give the milliseconds of local computation; those of the whole search where no parts are recorded.

    On GPUs labels are local work that is recorded with the reduction, and one rank alone does nothing else.
    """
    whole = float(median(search["milliseconds"] for search in one.searches))
    if not has_rank_records(one) or (one.backend == "cuda" and ranks_of(one) == 1):
        return whole
    parts = spent(one)
    labels = parts["reduce"] if one.backend == "cuda" and transport_of(one) != "nccl" else 0.0
    return parts["visit"] + labels


def hosts_of_run(one: Measurement, ranks: int) -> int:
    """Give the groups that a run took for hosts; ranks of one host need none."""
    groups = int(one.asked.get("tuning", {}).get("groups", 0)) or 1
    return groups if ranks % groups == 0 else 1


def searching_of(one: Measurement, symmetric: bool) -> Searching:
    """Read how a search went: its levels, those that sent masks, and its options."""
    from gravel.kernels.partition.model import Searching

    tuning = one.asked.get("tuning", {})
    masks = [search["ranks"]["mask_bytes"] if has_rank_records(one) else [] for search in one.searches]
    return Searching(
        levels=mean(search["depth"] + 1 for search in one.searches),
        mask_levels=mean(sum(1 for count in each if count) for each in masks),
        direction_optimized=symmetric and bool(tuning.get("direction_optimized", True)),
        label_bytes=4 if one.asked.get("output") == "distance" else 12,
        local_all_to_all=bool(tuning.get("local_all_to_all", False)),
    )


def compare(runs: Runs, links: Sequence[tuple[str, Links]] = ()) -> list[Compared]:
    """Predict every run from the local rate of the one with the fewest ranks on its backend and transport.

    Links that were measured stand in the place of those that are known of such machines.
    """
    groups: dict[tuple[str, bool], list[tuple[str, Split, Measurement]]] = {}
    for label, one in runs:
        split = split_of(label, one) if "partition" in one.graph and one.searches else None
        if split is not None and (has_rank_records(one) or split.ranks == 1) and computed(one) > 0:
            groups.setdefault((one.backend, transport_of(one) == "nccl"), []).append((label, split, one))
    if not groups:
        return []  # the import that follows brings Numba
    from gravel.kernels.partition.model import calibrated, predict

    found = []
    for (_, over_nccl), group in groups.items():
        base_label, base, first = min(group, key=lambda run: run[1].ranks)
        machine = calibrated(
            machine_with(links, machine_of(first), first.backend, "nccl" if over_nccl else None),
            computed(first) / 1e3,
            base.division,
            vertices=base.vertices,
            ranks=base.ranks,
            searching=searching_of(first, base.symmetric),
        )
        for label, split, one in group:
            prediction = predict(
                split.division,
                vertices=split.vertices,
                ranks=split.ranks,
                hosts=hosts_of_run(one, split.ranks),
                machine=machine,
                searching=searching_of(one, split.symmetric),
            )
            found.append(Compared(label, split, one, prediction, label == base_label))
    return found


def predicted_sections(runs: Runs, links: Sequence[tuple[str, Links]] = ()) -> list[Made]:
    """List and draw predicted and measured times; none unless several runs compare."""
    found = compare(runs, links)
    return [_table(found, bool(links)), _figure(found)] if len(found) > 1 else []


def _table(found: Sequence[Compared], links: bool) -> Made:
    rows: list[list[Any]] = []
    for each in found:
        measured, predicted = computed(each.one), each.prediction
        at_once = not in_turns(each.one)
        whole = median(search["milliseconds"] for search in each.one.searches) if at_once else None
        rows.append(
            [
                each.label,
                each.split.ranks,
                each.split.threshold,
                measured,
                1e3 * predicted.local,
                "fitted" if each.fitted else 1e3 * predicted.local / measured,
                whole,
                1e3 * predicted.seconds if whole else None,
                1e3 * predicted.seconds / whole if whole else None,
                sent(each.one, "mask_bytes") if has_rank_records(each.one) else None,
                predicted.mask_bytes,
                sent(each.one, "vertex_bytes") if has_rank_records(each.one) else None,
                predicted.vertex_bytes,
            ]
        )
    return table(
        "Predicted against measured",
        "The local rates of the cost model are fitted to the local computation of one run, "
        "the first of those with the fewest ranks. Costs of levels, with and without masks, "
        "are as measured. On GPUs, computation includes labels and everything that one rank "
        "does alone. A whole search is compared only if its ranks ran at once. Masks are "
        "predicted whole, though only changed words may be sent."
        + (" Links are those that were measured." if links else ""),
        "run | ranks | threshold | computation, ms | predicted, ms | predicted / measured | "
        "search, ms | search predicted, ms | search predicted / measured | mask bytes | mask "
        "bytes predicted | vertex bytes | vertex bytes predicted",
        rows,
    )


def _figure(found: Sequence[Compared]) -> Made:
    names = run_names([each.label for each in found])
    kinds = {
        "local computation": [
            (computed(each.one), 1e3 * each.prediction.local) for each in found if not each.fitted
        ],
        "the run that was fitted": [
            (computed(each.one), 1e3 * each.prediction.local) for each in found if each.fitted
        ],
        "whole search": [
            (median(search["milliseconds"] for search in each.one.searches), 1e3 * each.prediction.seconds)
            for each in found
            if not in_turns(each.one)
        ],
    }
    points = [value for several in kinds.values() for point in several for value in point]
    ends = (min(points) / 1.3, max(points) * 1.3)
    bounds = [
        ("as predicted", 1.0, "solid"),
        ("half as long", 0.5, "dotted"),
        ("twice as long", 2.0, "dotted"),
    ]
    lines = [
        Line(name=name, x=ends, y=tuple(end * factor for end in ends), color="grey", dash=dash)
        for name, factor, dash in bounds
    ]
    for place, (name, several) in enumerate(kinds.items()):
        if several:
            x, y = zip(*several, strict=True)
            lines.append(Line(name=name, x=x, y=y, draw="points", color=place))
    panel = Curves(
        x=Axis(label="measured ms", scale="log10"),
        y=Axis(label="predicted ms", scale="log10"),
        lines=tuple(lines),
    )
    return figure(
        "Model against measurement",
        (
            "Each point is a run. Between the dotted lines, prediction and measurement differ by "
            "less than a factor of 2."
        ),
        [panel],
        {
            "run": names,
            "measured_local": [computed(each.one) for each in found],
            "predicted_local": [1e3 * each.prediction.local for each in found],
            "predicted": [1e3 * each.prediction.seconds for each in found],
        },
        alt=f"Predicted over measured times of {len(found)} runs",
    )


SECTIONS = (Section(rank=85, make=predicted_sections, needs=("measured", "links")),)
