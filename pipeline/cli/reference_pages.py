"""The reference pages of the docs, made from what the code declares: stages, strategies, workflows.

    python -m gravel.pipeline.cli.reference_pages --write

writes them below `docs/`; without `--write` it says which are not current and exits 1. A test does the same.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.installation import ROOT

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from gravel.kernels.strategy import Strategy
    from gravel.stages.stage import Slot, Stage

WRITE = "python -m gravel.pipeline.cli.reference_pages --write"
MADE = f"<!-- Made from the code by `{WRITE}`; edit the code instead. -->"

PACKAGES = {
    "gravel.kernels.bfs": "Breadth-first search",
    "gravel.kernels.bfs.rows": "Breadth-first search of encoded rows",
    "gravel.kernels.components": "Connected components",
}

STRATEGIES = """\
What the parameter `strategy` of [traverse](stages/traverse.md) may be. `auto` chooses by the graph, the
backend and the output, and the result says what it chose and why. All strategies of one job give equal
results. No strategy stands for another: one that runs on CUDA alone is refused on a CPU, or, as one value of
a matrix, shown as not run.

Constants are set with `tuning: {name: value}`; their defaults suit the graphs that they were tuned on. A
constant of the other backend is left out, so that one workflow serves both."""

PAPERS = """\
`paper: NAME` of a stage takes what a paper states of its own settings. Of several that stand in one row the
first is taken, and the others may be asked for. What is given beside and contradicts the paper is refused,
but for sources, placement and threshold, which may be chosen. What is not stated is gravel's. A report lists
each setting with whose it is."""

GIVEN = {
    *("row_offsets", "column_indices", "output", "symmetric", "max_depth", "statistics", "threads", "trace"),
    *("rows", "narrow"),
}
"""Arguments of a strategy that are decided elsewhere: by the graph, by parameters of the stage, by tests."""


def pages() -> dict[str, str]:
    """Return every generated page by its path below `docs/`."""
    from gravel.pipeline.cli.stage_texts import in_pipeline_order
    from gravel.stages.stage import all_stages

    ordered = in_pipeline_order(all_stages())
    found = {"stages/README.md": _join(_overview(ordered))}
    for stage in ordered:
        found[f"stages/{stage.name}.md"] = stage_page(stage)
    found["strategies.md"] = _join(_strategies())
    found["workflows.md"] = _join(_workflows(ROOT / "workflows"))
    return found


def stage_page(stage: Stage) -> str:
    """Write the page of one stage, in Markdown."""
    return _join(_stage(stage))


def _join(lines: Iterator[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


def _overview(stages: list[Stage]) -> Iterator[str]:
    yield from (MADE, "", "# Stages", "")
    yield "Each stage takes artifacts and gives artifacts. `gravel stages` prints this list."
    yield from ("", "| stage | takes | gives | |", "|---|---|---|---|")
    for stage in stages:
        slots = ", ".join(f"{slot}: {_kinds(each)}" for slot, each in stage.inputs.items()) or "nothing"
        gives = ", ".join(f"`{kind}`" for kind in stage.outputs)
        yield f"| [`{stage.name}`]({stage.name}.md) | {slots} | {gives} | {_cell(stage.about)} |"
    yield from ("", "[Own stages](../own-stages.md) says how to add one.")


def _stage(stage: Stage) -> Iterator[str]:
    from gravel.pipeline.cli.stage_texts import strategies_of

    if stage.origin is None:
        yield from (MADE, "")
    yield from (f"# {stage.name}", "", stage.about, "")
    prose = (inspect.getdoc(stage.run) or "").split("\n\nParameters\n---")[0]
    if prose:
        yield from (prose, "")
    runs_on = "the CPU and CUDA" if stage.cuda else "the CPU"
    timed = " It measures time, so the hardware is part of its recipe." if stage.measures else ""
    yield from (f"Version {stage.version}; runs on {runs_on}.{timed}", "")
    if stage.inputs:
        yield from ("## Inputs", "", "| slot | takes | |", "|---|---|---|")
        for slot, each in stage.inputs.items():
            yield f"| `{slot}` | {_kinds(each)} | {_cell(each.about)} |"
        yield ""
    yield from ("## Outputs", "")
    yield from (f"- `{kind}`: {_cell(_first_sentence(kind))}" for kind in stage.outputs)
    yield from ("", "## Parameters", "")
    yield from _parameters(stage.parameters, "", (stage.parameters,))
    if strategies_of(stage):
        yield from ("[Strategies](../strategies.md) lists what `strategy` may be.", "")
    yield from ("## In a workflow", "", "```yaml entry", *_example(stage), "```")


def _parameters(model: type[BaseModel], above: str, seen: tuple[type[BaseModel], ...]) -> Iterator[str]:
    from gravel.pipeline.cli.stage_texts import type_text
    from gravel.stages.documented import documented, models_in

    if not documented(model).model_fields:
        yield from ("None.", "")
        return
    yield from ("| name | type | default | |", "|---|---|---|---|")
    inner: list[tuple[str, type[BaseModel]]] = []
    for name, field in model.model_fields.items():
        about = _cell(" ".join((field.description or "").split()))
        yield f"| `{name}` | {_cell(type_text(field.annotation))} | {_default(field)} | {about} |"
        inner += [(f"{above}{name}", each) for each in models_in(field.annotation) if each not in seen]
    yield ""
    for where, each in inner:
        yield from (f"### {where}: {{{', '.join(each.model_fields)}}}", "")
        text = inspect.getdoc(each)
        if text:
            yield from (text, "")
        yield from _parameters(each, f"{where}.", (*seen, each))


def _default(field: FieldInfo) -> str:
    from gravel.pipeline.cli.stage_texts import default_text

    return "required" if field.is_required() else f"`{default_text(field)}`"


def _example(stage: Stage) -> Iterator[str]:
    """Write an entry with the stage's inputs and the parameters that it cannot do without."""
    yield f"{stage.name}:"
    yield f"  stage: {stage.name}"
    for slot, each in stage.inputs.items():
        giver = {"EdgeList": "edges", "Graph": "graph", "Traversal": "bfs"}.get(each.kinds[0], "graph")
        yield f"  {slot}: {f'[{giver}]' if each.many else giver}"
    if stage.name == "ingest":
        yield "  source: {rmat: {scale: 16}}"


def _first_sentence(kind: str) -> str:
    from gravel.stages.artifacts import Artifact

    text = " ".join((inspect.getdoc(Artifact.kinds[kind]) or "").split("\n\n")[0].split())
    return text if text.endswith((".", ":")) else f"{text}."


def _kinds(slot: Slot) -> str:
    kinds = "anything" if len(slot.kinds) > 5 else " or ".join(f"`{kind}`" for kind in slot.kinds)
    return f"several of {kinds}" if slot.many and kinds != "anything" else kinds


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _strategies() -> Iterator[str]:
    from gravel.kernels.strategy import strategies_in

    yield from (MADE, "", "# Strategies", "")
    yield from STRATEGIES.splitlines()
    yield ""
    for package, title in PACKAGES.items():
        yield from (f"## {title}", "")
        for strategy in strategies_in(package).values():
            yield from _strategy(strategy)
    yield from _presets()


def _presets() -> Iterator[str]:
    from gravel.stages.presets import PRESETS, setting_text

    yield from ("## Settings of papers", "", *PAPERS.splitlines(), "")
    for preset in PRESETS:
        yield from (f"### {preset.name}, for {preset.stage}", "", f"{preset.paper}.", "")
        yield from ("| setting | the paper's | where |", "|---|---|---|")
        for environment in preset.settings:
            stated = " or ".join(f"`{setting_text(value)}`" for value in environment.values)
            meant = "; ".join(f"{name} {' or '.join(values)}" for name, values in environment.when.items())
            where = "; ".join(part for part in (environment.where, f"with {meant}" if meant else "") if part)
            yield f"| `{environment.name}` | {stated or 'not stated'} | {_cell(where)} |"
        yield ""


def _strategy(strategy: Strategy) -> Iterator[str]:
    yield from (f"### {strategy.name}", "", strategy.about, "")
    backends = " and ".join(name for name, there in (("CPU", strategy.cpu), ("CUDA", strategy.cuda)) if there)
    graphs = "any graph" if strategy.directed else "symmetric graphs only"
    yield f"- Source: {strategy.source}"
    yield f"- Runs on {backends}; {graphs}; output {', '.join(strategy.outputs)}."
    for backend, target in (("cpu", strategy.cpu), ("cuda", strategy.cuda)):
        constants = _constants(strategy, backend) if target else []
        if constants:
            text = ", ".join(f"`{name}` = {default}" for name, default in constants)
            yield f"- Constants on {backend.upper()}: {text}"
    yield ""


def _constants(strategy: Strategy, backend: str) -> list[tuple[str, Any]]:
    signature = inspect.signature(strategy.load(backend))
    return [
        (name, "chosen by the device or graph" if parameter.default is None else f"`{parameter.default}`")
        for name, parameter in signature.parameters.items()
        if name not in GIVEN
    ]


def _workflows(folder: Path) -> Iterator[str]:
    from gravel.pipeline.workflow.loading import load_workflow
    from gravel.pipeline.workflow.scalars import to_text

    yield from (MADE, "", "# Workflows", "")
    yield "The folder `workflows/` holds these, ready to run. Their sizes suit any machine; parameters"
    yield "change them. Every combination of axes is an experiment."
    yield ""
    for path in sorted(folder.glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        if not re.search(r"^stages:", text, re.MULTILINE):  # a catalogue of data sets, say
            continue
        workflow = load_workflow(path)
        yield from (f"## {path.stem}", "", workflow.about, "")
        comments = dict(_COMMENT.findall(text))
        if workflow.parameters:
            yield from ("| parameter | default | |", "|---|---|---|")
            for name, value in workflow.parameters.items():
                yield f"| `{name}` | `{_cell(to_text(value))}` | {_cell(comments.get(name, ''))} |"
            yield ""
        for axis, values in workflow.matrix.items():
            yield f"- axis `{axis}`: {', '.join(map(to_text, values))}"
        if workflow.matrix:
            yield ""
        yield from ("```sh", f"gravel dag workflows/{path.name} --entries", "```", "")


_COMMENT = re.compile(r"^  (\w+):[^#\n]*#[ ]*(.*)$", re.MULTILINE)


def stale(folder: Path) -> list[str]:
    """Name the pages below a folder that are missing, not current, or of a stage that is gone."""
    made = pages()
    there = {path.relative_to(folder).as_posix() for path in (folder / "stages").glob("*.md")}
    wrong = [name for name, text in made.items() if _read(folder / name) != text]
    return sorted([*wrong, *(there - made.keys())])


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def main(arguments: list[str], folder: Path = ROOT / "docs") -> int:
    """Write the pages, or say which are not current."""
    wrong = stale(folder)
    if arguments == ["--write"]:
        made = pages()
        for name in wrong:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name in made:
                path.write_text(made[name], encoding="utf-8")
            else:
                path.unlink()
        print(f"{len(wrong)} of {len(made)} pages written")
        return 0
    for name in wrong:
        print(f"docs/{name} is not current; run `{WRITE}`")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
