"""FlexBFS: launch sizes fed back from the frontier against fixed ones, and what each step adds (figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

from gravel.stages.presets import Preset, Setting
from gravel.stages.sections.section import Made, Runs, Section, table
from gravel.stages.sections.studies import Member, Study, differ, studies

STEPS = ("baseline", "config1", "config2", "config3")
"""Rows of the poster's table 1, each with what the one before it has."""

STATED = (
    "The poster states that the baseline is better than a fixed size in most cases, and "
    "that config1 saves up to 30 % of the time. It states that config2 gains on regular "
    "graphs, and config3 most on irregular ones. The text of its figure 2 has no values, "
    "so orders are compared."
)


def launch_sections(members: Runs) -> list[Made]:
    """Make the tables of launch sizes and of the steps; none where no host started kernels for levels."""
    flex = [
        (label, one) for label, one in members if one.strategy == "flex" and one.searches[0].get("launches")
    ]
    if not flex:
        return []
    found = studies(flex)
    return [_sizes(found), _steps(found)]


def _configuration(member: Member) -> str:
    return str(member.one.ran.get("options", {}).get("configuration", ""))


def _named(study: Study, configuration: str) -> Member | None:
    return next((each for each in study.members if _configuration(each) == configuration), None)


def _against(member: Member, other: Member | None) -> tuple[float | None, str]:
    """Give a time over another, and whether they differ by more than their spread."""
    if other is None or other is member:
        return None, ""
    differs = differ(member, other)
    remark = "measured once" if differs is None else "" if differs else "a tie"
    return member.milliseconds / other.milliseconds, remark


def _sizes(found: Sequence[Study]) -> Made:
    rows: list[list[Any]] = []
    for study in found:
        fed_back = _named(study, "baseline")
        for member in study.members:
            searches = member.one.searches
            threads = [search["launch_threads"] for search in searches]
            share, remark = _against(member, fed_back)
            rows.append(
                [
                    study.graph,
                    _configuration(member),
                    "fixed" if _configuration(member) == "fixed" else "fed back",
                    min(each["least"] for each in threads),
                    max(each["most"] for each in threads),
                    fmean(search["launches"] for search in searches),
                    fmean(each["sum"] for each in threads),
                    member.milliseconds,
                    share,
                    remark,
                ]
            )
    return table(
        "Launch sizes: fixed, and fed back from the frontier",
        "Threads of kernels that the host launched for levels, over all searches. Launches "
        "and total threads are means, and times are medians. They are compared with the "
        "baseline, which launches a kernel for each level with as many threads as the "
        f"frontier has vertices. {STATED}",
        "graph | configuration | size | fewest threads | most threads | launches | threads in all"
        " | median ms | over the baseline | ",
        rows,
        result=200,
    )


def _steps(found: Sequence[Study]) -> Made:
    rows: list[list[Any]] = []
    for study in found:
        for before, step in pairwise(STEPS):
            first, second = _named(study, before), _named(study, step)
            if first is not None and second is not None:
                share, remark = _against(second, first)
                rows.append([study.graph, step, before, None if share is None else 100 * (share - 1), remark])
    return table(
        "What each step of FlexBFS changes",
        f"By median times: less than 0 is faster. {STATED}",
        "graph | step | against | change of the time, % | ",
        rows,
        result=210,
    )


PRESETS = (
    Preset(
        "flexbfs",
        "traverse",
        "Liu et al., FlexBFS, PPoPP 2012 (poster)",
        (
            Setting("strategy", ("flex",), "section 2"),
            Setting(
                "tuning.configuration", ("config3", "config2", "config1", "baseline", "fixed"), "table 1"
            ),
            Setting("tuning.fixed_threads"),
            Setting("tuning.threads_per_vertex"),
            Setting("tuning.shrink"),
            Setting("tuning.hub_degree"),
            Setting("tuning.hub_share"),
            Setting("tuning.block"),
        ),
    ),
)

SECTIONS = (Section(rank=116, make=launch_sections, needs=("searched",)),)
