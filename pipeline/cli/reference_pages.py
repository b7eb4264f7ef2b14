"""The reference pages of the docs, made from the code: commands, stages, strategies, workflows.

    python -m gravel.pipeline.cli.reference_pages --write

writes them below `docs/`; without `--write` it says which are not current and exits 1. A test does the same.
What is on a page is in `pipeline/cli/pages/`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.installation import ROOT

if TYPE_CHECKING:
    from jinja2 import Environment

    from gravel.kernels.strategy import Strategy
    from gravel.pipeline.workflow.model import Workflow
    from gravel.stages.stage import Slot, Stage

WRITE = "python -m gravel.pipeline.cli.reference_pages --write"
MADE = f"<!-- Made from the code by `{WRITE}`; edit the code instead. -->"

PACKAGES = {
    "gravel.kernels.bfs": "Breadth-first search",
    "gravel.kernels.sssp": "Shortest paths",
    "gravel.kernels.components": "Connected components",
    "gravel.kernels.strong_components": "Strongly connected components",
}

GIVEN = {
    *("row_offsets", "column_indices", "output", "symmetric", "max_depth", "statistics", "threads", "trace"),
    *("rows", "narrow", "weighted", "predecessor", "asked", "back_offsets", "back_columns"),
}
"""Arguments of a strategy that are decided elsewhere: by the graph, by parameters of the stage, by tests."""

_COMMENT = re.compile(r"^  (\w+):[^#\n]*#[ ]*(.*)$", re.MULTILINE)


def pages() -> dict[str, str]:
    """Return every generated page by its path below `docs/`."""
    from gravel.kernels.strategy import strategies_in
    from gravel.pipeline.cli.command_texts import commands
    from gravel.pipeline.cli.stage_texts import in_pipeline_order
    from gravel.stages.presets import PRESETS
    from gravel.stages.stage import all_stages

    ordered = in_pipeline_order(all_stages())
    packages = {title: list(strategies_in(package).values()) for package, title in PACKAGES.items()}
    return {
        "commands.md": _page("commands", commands=list(commands())),
        "stages/README.md": _page("stages", stages=ordered),
        **{f"stages/{stage.name}.md": stage_page(stage) for stage in ordered},
        "strategies.md": _page("strategies", packages=packages, presets=PRESETS),
        "workflows.md": _page("workflows", workflows=list(_workflows(ROOT / "workflows"))),
    }


def stage_page(stage: Stage) -> str:
    """Write the page of one stage, in Markdown."""
    from gravel.pipeline.cli.stage_texts import strategies_of

    return _page("stage", stage=stage, strategies=strategies_of(stage))


def _page(name: str, **content: Any) -> str:
    return _environment().get_template(f"{name}.md.jinja").render(made=MADE, **content).rstrip() + "\n"


@cache
def _environment() -> Environment:
    import jinja2

    from gravel.pipeline.cli.stage_texts import default_text, field_type
    from gravel.pipeline.workflow.scalars import to_text
    from gravel.stages.documented import documented, models_in
    from gravel.stages.presets import setting_text

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "pages"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # Markdown
    )
    environment.filters |= {
        "cell": lambda text: text.replace("|", "\\|").replace("\n", " "),
        "backends": _backends,
        "constants": _constants,
        "default_text": default_text,
        "doc": lambda documented: inspect.getdoc(documented) or "",
        "documented": documented,
        "first_sentence": _first_sentence,
        "kinds": _kinds,
        "models": lambda annotation: list(models_in(annotation)),
        "setting": setting_text,
        "type": field_type,
        "yaml": to_text,
    }
    return environment


def _first_sentence(kind: str) -> str:
    from gravel.stages.artifact import Artifact

    text = " ".join((inspect.getdoc(Artifact.kinds[kind]) or "").split("\n\n")[0].split())
    return text if text.endswith((".", ":")) else f"{text}."


def _kinds(slot: Slot) -> str:
    kinds = "anything" if len(slot.kinds) > 5 else " or ".join(f"`{kind}`" for kind in slot.kinds)
    return f"several of {kinds}" if slot.many and kinds != "anything" else kinds


def _backends(strategy: Strategy) -> str:
    return " and ".join(name for name, code in (("CPU", strategy.cpu), ("CUDA", strategy.cuda)) if code)


def _constants(strategy: Strategy) -> Iterator[tuple[str, list[str]]]:
    """Yield where a strategy has constants of its own, and those."""
    for backend in ("cpu", "cuda"):
        if strategy.target(backend) and (found := _constants_of(strategy, backend)):
            yield backend.upper(), found


def _constants_of(strategy: Strategy, backend: str) -> list[str]:
    return [
        f"`{name}` = " + ("chosen by the device or graph" if each.default is None else f"`{each.default}`")
        for name, each in inspect.signature(strategy.load(backend)).parameters.items()
        if name not in GIVEN
    ]


def _workflows(folder: Path) -> Iterator[tuple[Path, Workflow, dict[str, str]]]:
    """Yield the workflows of a folder with the comments on their parameters."""
    from gravel.pipeline.workflow.loading import load_workflow

    for path in sorted(folder.glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        if re.search(r"^stages:", text, re.MULTILINE):  # else a catalogue of data sets, say
            yield path, load_workflow(path), dict(_COMMENT.findall(text))


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
