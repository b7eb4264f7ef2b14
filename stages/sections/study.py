"""What a study found as a whole: its experiments in one table, pictures along its axes, scaling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gravel.stages.sections.advised import advised_sections
from gravel.stages.sections.axes import axis_figures
from gravel.stages.sections.cells import cells, swept
from gravel.stages.sections.comparison import Value, compared, comparison_rules
from gravel.stages.sections.compression import compression_sections
from gravel.stages.sections.experiments import experiments, experiments_table
from gravel.stages.sections.orders import order_sections
from gravel.stages.sections.repetitions import repeated_times, typical
from gravel.stages.sections.scaling import scaling_sections
from gravel.stages.sections.studies import studies


def study_sections(members: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Make the sections of a study from labelled artifacts of several kinds; none where nothing varies."""
    measured = typical([(label, one) for label, one in members if type(one).__name__ == "Measurement"])
    compared_with, rules = _beside(members, measured)
    others = [(label, one) for label, one in members if type(one).__name__ != "Measurement"]
    joined = cells([*others, *measured])
    found = experiments(swept([*others, *measured], joined), compared_with)
    sections = (
        []
        if found is None
        else [experiments_table(found, rules if "standing" in found.columns else ""), *axis_figures(found)]
    )
    # Searches in a paper's way stand in its own tables, as `published` prints them: see `published.printed`.
    if not any(cell.one.asked.get("paper") for cell in joined):
        sections += order_sections(joined)
    sections += [*compression_sections(joined), *advised_sections(joined)]
    return [*sections, *scaling_sections(measured)]


def _beside(
    members: Sequence[tuple[str, Any]], measured: Sequence[tuple[str, Any]]
) -> tuple[dict[str, dict[str, Value]], str]:
    """Give what each measurement is beside others of its graph, by label, and how to read it."""
    times = repeated_times([(label, one) for label, one in members if type(one).__name__ == "Measurement"])
    several = [study for study in studies(measured, times) if len(study.members) > 1]
    found = {member.label: compared(study, member) for study in several for member in study.members}
    return found, comparison_rules(several) if several else ""
