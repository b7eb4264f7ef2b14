"""report: charts and tables made from any artifacts, as data that a page can show and a program can read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import Field, model_validator

import gravel.stages.artifacts  # noqa: F401 (its classes are the kinds of `Artifact.kinds`)
from gravel.stages.artifact import Artifact
from gravel.stages.presets import ABSENT
from gravel.stages.stage import Extent, FileInput, Machine, Need, Parameters, Slot, Stage, has_papers

if TYPE_CHECKING:
    from gravel.stages.artifacts import Report
    from gravel.stages.context import Context


SECTION_BYTES = 38 << 20
"""Measured: 11 MiB of sections and what they import, and 25 MiB of Numba, which another thread may import
meanwhile."""

INPUT_BYTES = 96 << 10
"""Measured: 80 KiB of an input whose 64 searches have 30 levels each; 4 KiB of one with two searches."""

MODEL_BYTES = 10 << 20
"""Measured: 9 MiB of `gravel.kernels.partition` beside Numba, for the cost model of partitions."""


class ReportParameters(Parameters):
    """Parameters: the title of the report."""

    title: str = "Report"
    """Heading of the report."""
    labels: tuple[str, ...] = ()
    """A name for each input artifact, in order; the planner fills in the names of the stage runs."""
    graphs: tuple[str, ...] = ()
    """The id of the graph of each input, in order; the planner fills it in."""
    from_files: bool = False
    """Whether all graphs are read from files: the answer is then what was found, else the rate. The
    planner fills it in."""
    not_run: dict[str, str] = Field(default_factory=dict)
    """Stage runs that this machine cannot run, each with the reason; the planner fills them in."""
    published: str | None = Field(default=None, min_length=1)
    """A file with published figures to compare with; see `workflows/papers/published.yaml`."""
    predict: bool = False
    """Also predict what searches over 1 to 1,024 ranks of other machines take."""

    @model_validator(mode="after")
    def _has_papers(self) -> ReportParameters:
        for name, asked in (("published", self.published is not None), ("predict", self.predict)):
            if asked and not has_papers():
                raise ValueError(f"{name} {ABSENT.format(name)}")
        return self


def report(context: Context, parameters: ReportParameters, *, inputs: tuple[Artifact, ...]) -> Report:
    """Make the answer of a report, then the sections of a study and of each kind of artifact.

    Artifacts of one kind share a section, so all experiments of a matrix are in one table.
    """
    from gravel.stages.artifacts import Report
    from gravel.stages.sections.answer import answer_section
    from gravel.stages.sections.page import Findings, arranged, make_sections

    labels = parameters.labels
    if len(labels) != len(inputs):
        labels = tuple(f"input {position + 1}" for position in range(len(inputs)))
    graphs = parameters.graphs if len(parameters.graphs) == len(inputs) else ("",) * len(inputs)
    inputs = tuple(_of_graph(one, graph) for one, graph in zip(inputs, graphs, strict=True))
    findings = Findings(
        list(zip(labels, inputs, strict=True)),
        dict(zip(labels, graphs, strict=True)),
        parameters.not_run,
        parameters.published,
        parameters.predict,
        parameters.from_files,
    )
    made = make_sections(findings, lambda done, total: context.progress(done, total, "sections"))
    return Report(title=parameters.title, sections=arranged([answer_section(findings, made), *made]))


def _of_graph(one: Artifact, graph: str) -> Artifact:
    """Have a measurement say which graph it searched: what it knows itself are the graph's degrees."""
    from gravel.stages.artifacts import Measurement

    if not isinstance(one, Measurement) or not graph:
        return one
    return replace(one, graph={**one.graph, "digest": graph})


def _files(parameters: ReportParameters) -> tuple[FileInput, ...]:
    return () if parameters.published is None else (FileInput(parameters.published),)


def _estimate(
    parameters: ReportParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    # Degrees, components and distances from a source are read one array of the vertices at a time.
    counted = [each for each in inputs["inputs"] if each.kind != "Partition"]
    if not parameters.from_files:
        counted = [each for each in counted if not each.searches]
    widest = max((each.vertices for each in counted), default=0)
    models = parameters.predict or any(extent.kind == "Partition" for extent in inputs["inputs"])
    model = MODEL_BYTES if models else 0
    return Need(
        host_bytes=SECTION_BYTES + INPUT_BYTES * len(inputs["inputs"]) + model + 18 * widest,
        device_bytes=0,
        outputs=(Extent(kind="Report", bytes=200_000),),
    )


STAGE = Stage(
    name="report",
    version=22,
    about="Makes tables and charts from any artifacts, for the report of a run.",
    parameters=ReportParameters,
    inputs={"inputs": Slot(kinds=tuple(Artifact.kinds), about="what to report on", many=True)},
    outputs=("Report",),
    run=report,
    estimate=_estimate,
    files=_files,
    hidden=frozenset({"published"}),
)
