"""The reference pages of the docs, made from the code: commands, stages, strategies, workflows.

    python docs/reference_pages.py --write

writes them; without `--write` it names those that are not current and exits 1. Each is a template of
`docs/templates/`, filled in.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
import jinja2
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from ruamel.yaml import YAML

from gravel.kernels.strategy import GIVEN, Strategy, strategies_in
from gravel.pipeline.cli import COMMANDS, main
from gravel.pipeline.cli.stages import default_text, in_pipeline_order, type_text
from gravel.pipeline.workflow.loader import load_workflow
from gravel.pipeline.workflow.nodes import to_text
from gravel.stages.artifact import Artifact
from gravel.stages.presets import Preset, Setting, all_presets, setting_text
from gravel.stages.stage import Slot, Stage, all_stages, documented, models_in

DOCS = Path(__file__).parent
WRITE = "python docs/reference_pages.py --write"
MADE = f"<!-- Made from the code by `{WRITE}`; edit the code instead. -->"

TEXTS: dict[str, Any] = YAML(typ="safe").load(DOCS / "templates" / "texts.yaml")
PACKAGES: dict[str, str] = TEXTS["packages"]

LONGEST_DEFAULT = 45
MAX_VALUES = 7

_COMMENT = re.compile(r"^  (\w+):[^#\n]*#[ ]*(.*)$", re.MULTILINE)
_GIVEN_AXIS = re.compile(r'^  (\w+): "\$\{(\w+)\}"$', re.MULTILINE)


@dataclass(frozen=True)
class CommandText:
    """One command: its whole name, its arguments, what it does, and each option with what it does."""

    name: str
    arguments: str
    about: str
    options: list[tuple[str, str]]


@dataclass(frozen=True)
class Section:
    """A table of parameters: a title, a text above, and rows of name, type, default and text.

    Of a choice of models, rows have the names of those with the parameter in the place of the type, and
    `choices` has each with its text.
    """

    title: str
    about: str
    rows: list[tuple[str, str, str, str]]
    choices: list[tuple[str, str]] = field(default_factory=list)


def pages() -> dict[str, str]:
    """Return every generated page by its path below `docs/`."""
    ordered = in_pipeline_order(all_stages())
    packages = {title: list(strategies_in(package).values()) for package, title in PACKAGES.items()}
    homes: dict[type[BaseModel], str] = {}
    content: dict[str, tuple[str, dict[str, Any]]] = {
        "commands.md": ("commands", _commands()),
        "stages/README.md": ("stages", {"stages": ordered, "kinds": Artifact.kinds}),
        **{
            f"stages/{stage.name}.md": ("stage", {"stage": stage, **_tables(stage, homes)})
            for stage in sorted(ordered, key=lambda stage: (stage.name not in TEXTS["homes"], stage.name))
        },
        "strategies.md": (
            "strategies",
            {"packages": packages, "presets": all_presets(), "plain": Strategy("", "")},
        ),
        "workflows.md": (
            "workflows",
            {"workflows": list(_workflows(DOCS.parent / "workflows")), "usual": TEXTS["usual"]},
        ),
    }
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(DOCS / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # Markdown
    )
    environment.filters["setting"] = setting_text
    for each in (_constants, _about, _example, _first_sentence, _kinds, _stated):
        environment.filters[each.__name__.removeprefix("_")] = each
    return {
        path: environment.get_template(f"{name}.md.jinja").render(made=MADE, **given).rstrip() + "\n"
        for path, (name, given) in content.items()
    }


def _commands() -> dict[str, Any]:
    """Return all commands in the order in which `gravel --help` lists them, and the options of several."""
    context = click.Context(main, info_name="gravel")
    commands: list[CommandText] = []
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        commands += _command(command, click.Context(command, context, name))
    count = Counter(option for command in commands for option in command.options)
    shared = [option for option in count if count[option] > 1]
    groups = {
        title: [option for option in shared if option[0].startswith(tuple(begins))]
        for title, begins in TEXTS["option_groups"].items()
    }
    groups["other"] = [option for option in shared if not any(option in own for own in groups.values())]
    return {
        "commands": [(command, _shared_by(command, groups)) for command in commands],
        "shared": shared,
        "groups": groups,
    }


def _shared_by(command: CommandText, groups: dict[str, list[tuple[str, str]]]) -> list[str]:
    """Write what a command shares with others: groups that it has as a whole, and single options."""
    written = []
    for title, options in groups.items():
        own = [option for option in options if option in command.options]
        if own == options and title != "other":
            written.append(f"[{title}](#{title.replace(' ', '-')})")
        else:
            written += [f"`{names.split(', ')[0].split(' ')[0]}`" for names, _ in own]
    return written


def _command(command: click.Command, context: click.Context) -> Iterator[CommandText]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _command(inner, click.Context(inner, context, name))
        return
    name = context.command_path.removeprefix("gravel ")
    arguments = " ".join(command.collect_usage_pieces(context)).removeprefix("[OPTIONS]").strip()
    # Paragraphs without click's marks.
    about = "\n".join(line.strip() for line in (command.help or "").replace("\b", "").strip().splitlines())
    options = [_option(each) for each in command.params if isinstance(each, click.Option)]
    yield CommandText(name, arguments, about, options)


def _option(option: click.Option) -> tuple[str, str]:
    names = ", ".join([*option.opts, *option.secondary_opts])
    if option.metavar:
        names += f" {option.metavar}"
    elif isinstance(option.type, click.Choice):
        names += f" {'|'.join(map(str, option.type.choices))}"
    elif not option.is_flag:
        is_number = isinstance(option.type, click.IntRange | click.types.IntParamType)
        names += " N" if is_number else f" {option.type.name.upper()}"
    return names + " ..." * option.multiple, option.help or ""


def _about(stage: Stage) -> str:
    """Return what a stage's documentation says below its first paragraph, which is its summary."""
    return "\n\n".join((inspect.getdoc(stage.run) or "").split("\n\nParameters\n---")[0].split("\n\n")[1:])


def _example(stage: Stage) -> str:
    """Write an entry of a workflow with a stage."""
    givers = {"EdgeList": "edges", "Graph": "graph", "Traversal": "bfs"}
    words = [f"stage: {stage.name}"]
    for slot, each in stage.inputs.items():
        if each.optional:
            continue
        giver = givers.get(each.kinds[0], "graph")
        words.append(f"{slot}: {f'[{giver}]' if each.many else giver}")
    return f"{stage.name}: {{{', '.join([*words, *TEXTS['examples'].get(stage.name, [])])}}}"


def _tables(stage: Stage, homes: dict[type[BaseModel], str]) -> dict[str, Any]:
    """Return the tables of a stage's parameters, and the names of those that are on another stage's page.

    `homes` has the stage of each model whose table is on a page.
    """
    model = documented(stage.parameters)
    fields, about = _own(model, homes)
    homes[model] = stage.name
    sections, elsewhere = [Section("", about, [_row(*each) for each in fields.items()])], {}
    for name, given in fields.items():
        models = list(models_in(given.annotation))
        for model in models:
            if model in homes:
                elsewhere[name] = homes[model]
            else:
                title = f"{name}: {{{', '.join(model.model_fields)}}}" if len(models) > 1 else name
                sections.append(_section(title, model, homes))
        homes |= {model: stage.name for model in models if model not in homes}
    return {"sections": sections, "elsewhere": elsewhere}


def _own(model: type[BaseModel], homes: dict[type[BaseModel], str]) -> tuple[dict[str, FieldInfo], str]:
    """Return the parameters of a model that no page has, and where those of a model that it extends are."""
    fields = dict(model.model_fields)
    home = next((each for each in model.__mro__ if each in homes), None)
    if home is None:
        return fields, ""
    about = f"As for [{homes[home]}]({homes[home]}.md#parameters), and:"
    changed = {*fields} - {*home.model_fields} | {*model.__annotations__}
    return {name: each for name, each in fields.items() if name in changed}, about


def _section(title: str, model: type[BaseModel], homes: dict[type[BaseModel], str]) -> Section:
    """Return the table of a model, or its own part where a model that it extends is on another page."""
    own, about = _own(model, homes)
    about = about or inspect.getdoc(model) or ""
    inner = {name: list(models_in(each.annotation)) for name, each in own.items()}
    if not own or not all(inner.values()):
        return Section(title, about, [_row(*each) for each in own.items()])
    names: dict[tuple[str, str, str], list[str]] = {}
    for choice, (of,) in inner.items():
        for name, each in of.model_fields.items():
            row = _row(name, each)
            names.setdefault((row[0], *row[2:]), []).append(choice)
    rows = [(row[0], ", ".join(choices), *row[1:]) for row, choices in names.items()]
    return Section(title, about, rows, [(name, each.description or "") for name, each in own.items()])


def _row(name: str, given: FieldInfo) -> tuple[str, str, str, str]:
    """Return name, type, default and text of a parameter; its type is `choice` if the text has each value."""
    text = " ".join((given.description or "").split())
    kind = type_text(given.annotation, *given.metadata)
    if given.default is None:
        kind = kind.removesuffix(" | none")
    if kind == "true | false":
        kind = "boolean"
    elif " | " in kind and all(f"`{choice}`" in text for choice in kind.split(" | ")):
        kind = "choice"
    return name, kind, "required" if given.is_required() else f"`{default_text(given)}`", text


def _first_sentence(kind: str) -> str:
    text = " ".join((inspect.getdoc(Artifact.kinds[kind]) or "").split("\n\n")[0].split())
    return text if text.endswith((".", ":")) else f"{text}."


def _kinds(slot: Slot) -> str:
    kinds = "anything" if len(slot.kinds) > 5 else ", ".join(f"`{kind}`" for kind in slot.kinds)
    kinds = f"several of {kinds}" if slot.many and kinds != "anything" else kinds
    return f"{kinds}, optional" if slot.optional else kinds


def _constants(strategy: Strategy) -> Iterator[tuple[str, list[str]]]:
    """Yield where a strategy runs, with its constants there."""
    found = {each: _constants_of(strategy, each) for each in ("cpu", "cuda") if strategy.target(each)}
    if len({*map(tuple, found.values())}) == 1:
        yield " and ".join(map(str.upper, found)), next(iter(found.values()))
    else:
        yield from ((backend.upper(), constants) for backend, constants in found.items())


def _constants_of(strategy: Strategy, backend: str) -> list[str]:
    return [
        f"`{name}`" if each.default is None else f"`{name}={each.default}`"
        for name, each in inspect.signature(strategy.load(backend)).parameters.items()
        if name not in {*GIVEN, "threads"}
    ]


def _stated(preset: Preset) -> Iterator[list[Setting]]:
    """Yield the settings that a paper states, those together that are alike in all but their names."""
    alike: dict[str, list[Setting]] = {}
    for setting in (each for each in preset.settings if each.values):
        alike.setdefault(repr(replace(setting, name="")), []).append(setting)
    yield from alike.values()


def _workflows(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the texts of the workflows of a folder; `as_in` names an earlier one with the same parameters."""
    earlier: dict[str, str] = {}
    for path in sorted((*folder.glob("*.yaml"), *folder.glob("papers/*.yaml")), key=lambda path: path.stem):
        text = path.read_text("utf-8")
        if not re.search(r"^stages:", text, re.MULTILINE):  # a catalogue of data sets, say
            continue
        workflow = load_workflow(path)
        defaults, comments = workflow.parameters, dict(_COMMENT.findall(text))
        as_in = earlier.setdefault(f"{defaults} {comments}", path.stem) if defaults else path.stem
        given = dict(_GIVEN_AXIS.findall(text))
        yield {
            "name": path.stem,
            "about": workflow.about,
            "of_a_paper": path.parent != folder,
            "as_in": "" if as_in == path.stem else as_in,
            "parameters": [(_default(*each), _unusual(each[0], comments)) for each in defaults.items()],
            "axes": [_axis(*each, given) for each in workflow.matrix.items()],
        }


def _default(name: str, value: Any) -> str:
    """Write a parameter with its default, or alone if that is long."""
    text = f"{name}: {to_text(value)}"
    return text if len(text) <= LONGEST_DEFAULT else name


def _unusual(name: str, comments: dict[str, str]) -> str:
    """Return the comment on a parameter without what the page says once of all that have this name."""
    parts = comments.get(name, "").split("; ")
    return "; ".join(part for part in parts if part != TEXTS["usual"].get(name))


def _axis(name: str, values: Any, given: dict[str, str]) -> str:
    """Write an axis with its values or the parameter that has them; alone if it is of another workflow."""
    if "." in name:
        return f"`{name}`"
    if name in given:
        return f"`{name}` (`{given[name]}`)"
    texts = [*map(to_text, values[:MAX_VALUES]), *["..."] * (len(values) > MAX_VALUES)]
    return f"`{name}` ({', '.join(texts)})"


def renew(folder: Path = DOCS, *, write: bool = False) -> list[str]:
    """Name the pages that are missing, not current, or of no stage; `write` makes them current."""
    made = pages()
    gone = {path.relative_to(folder).as_posix() for path in (folder / "stages").glob("*.md")} - made.keys()
    there = {name: folder / name for name in made}
    wrong = [name for name, path in there.items() if not path.is_file() or path.read_text() != made[name]]
    if write:
        for name in wrong:
            there[name].parent.mkdir(parents=True, exist_ok=True)
            there[name].write_text(made[name], encoding="utf-8")
        for name in gone:
            (folder / name).unlink()
    return sorted([*wrong, *gone])


if __name__ == "__main__":
    written = sys.argv[1:] == ["--write"]
    wrong = renew(write=written)
    for name in wrong:
        print(f"docs/{name} {'is written' if written else f'is not current; run `{WRITE}`'}")
    sys.exit(1 if wrong and not written else 0)
