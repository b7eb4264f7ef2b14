"""The workflow that stands for a data file: `gravel run data.txt` searches it without any YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import Location, Problem, RequestError, WorkflowError
from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.datasets.file_lists import expanded, is_several
from gravel.pipeline.plugins.packages import known_stages
from gravel.pipeline.workflow.data_files import ENDS, name_of, split_ids
from gravel.pipeline.workflow.loader import read_workflow
from gravel.pipeline.workflow.model import Workflow
from gravel.pipeline.workflow.nodes import Text
from gravel.stages.edge_columns import ColumnsError
from gravel.stages.errors import StageError
from gravel.stages.urls import is_url, shown, visible

if TYPE_CHECKING:
    from gravel.stages.detection import Choice
    from gravel.stages.ingest_parameters import IngestParameters
    from gravel.stages.parsing.columns import Layout, ListOptions
    from gravel.stages.parsing.head import Head


MAX_LINES = 3  # lines that are shown
MAX_WIDTH = 70
EXAMPLES = "[1, 2]"

_NUMBER = re.compile(r"-?[0-9]+")
_BINARY = (b"PAR1", b"\x93NUMPY")


@dataclass(frozen=True)
class Inspection:
    """What was found in a file: comment lines, some of its ids as YAML has them, parameters of `ingest`."""

    comments: Sequence[str]
    examples: str = EXAMPLES
    settings: Mapping[str, str] = field(default_factory=dict)


def inspect_file(
    location: str, sources: Sequence[str] = (), given: Mapping[str, str] | None = None
) -> Inspection:
    """Read the beginning of a file or URL; raises StageError for what no reader takes.

    Lists of texts are recognised where their names do not say so. Where one of `sources` is no number, the
    ids of a list are texts. `given` are parameters of ingest that are given, as YAML has them.
    """
    from gravel.stages.parsing.head import HEAD_BYTES, Head
    from gravel.stages.readers.edge_list import head_layout
    from gravel.stages.readers.numpy import ZIP, check_archive
    from gravel.stages.streams import file_size, open_stream

    settings = dict(given or {})
    asked = _parameters(location, settings).asked
    with open_stream(location) as stream:
        data = stream.peek(HEAD_BYTES)
        head = Head(data, whole=len(data) < HEAD_BYTES)
        name, packing = stream.name, stream.compression
        size = file_size(location)
    if any(not _NUMBER.fullmatch(each) for each in sources):
        asked = replace(asked, ids="text")
    choice = _choice(name, head, location, asked, settings)
    if data.startswith(ZIP) and not packing and not is_url(location):
        check_archive(Path(location))
    stored = "of unknown size" if size is None else format_bytes(size)
    packed = f", compressed ({packing})" if packing else ""
    comments = [f"{choice.reader.title}, {stored}{packed}; {choice.reason}."]
    if b"\0" in data or data.startswith(_BINARY):
        return Inspection([*comments, "Its columns hold the ids."], settings=settings)
    first = [line.decode("utf-8", "replace")[:MAX_WIDTH] for line in head.lines if line.strip()][:MAX_LINES]
    comments += ["It starts with:", *(f"    {_printable(line)}" for line in first)]
    if choice.reader.name != "edge_list":
        return Inspection(comments, settings=settings)
    if asked.ids == "text":
        settings["ids"] = "text"
    try:
        layout = head_layout(head, asked, name)
    except ColumnsError as error:
        raise StageError(str(error), hint=error.hint, file=location, line=1) from None
    comments += [f"It is read as: {layout}.", *(f"Note: {doubt}." for doubt in layout.doubts)]
    rows = _edges(head, layout, asked)
    if not rows:
        return Inspection(comments)
    ids = [each for row in rows for each in row]
    texts = [each for each in ids if not _NUMBER.fullmatch(each)]
    if texts:
        comments.append(f"Ids are texts, such as {_quoted(texts[0])}.")
    else:
        span = f"from {min(map(int, ids)):,} to {max(map(int, ids)):,}"
        comments.append(f"Ids are integers, {span} in the first {len(rows):,} edges.")
    shown_ids = list(dict.fromkeys(ids[:16]))[:2]
    plain = all(_NUMBER.fullmatch(each) for each in shown_ids)
    examples = ", ".join(each if plain else _quoted(each) for each in shown_ids)
    return Inspection(comments, f"[{examples}]", settings)


def _choice(name: str, head: Head, location: str, asked: ListOptions, settings: dict[str, str]) -> Choice:
    """Choose the reader; a list of texts may have any name if all of its lines have its columns."""
    from gravel.stages.detection import Choice, choose_reader, named_readers
    from gravel.stages.readers import all_readers
    from gravel.stages.readers.edge_list import head_layout

    try:
        return choose_reader(name, head, location, as_list=asked.as_list)
    except StageError as error:
        try:
            layout = head_layout(head, asked, name)
        except ColumnsError:
            raise error from None
        if named_readers(name) or not layout.texts or not layout.regular:
            raise
        settings["format"] = "edge_list"
        return Choice(all_readers()["edge_list"], f"each line has {layout.fields} columns")


def _parameters(location: str, given: Mapping[str, str]) -> IngestParameters:
    """Check what is given, as reading the workflow will."""
    from pydantic import ValidationError
    from ruamel.yaml import YAML

    from gravel.stages.ingest_parameters import IngestParameters

    try:
        given = {key: YAML(typ="safe").load(value) for key, value in given.items()}
        return IngestParameters(file=location, **given)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(str(each) for each in fault["loc"] if each in given or each in ENDS)
        raise RequestError(f"--{place}: {fault['msg'].removeprefix('Value error, ')}") from None


def _edges(head: Head, layout: Layout, asked: ListOptions) -> list[list[str]]:
    """Return the ids of the first edges of a list."""
    from gravel.stages.parsing.delimiters import fields_of

    lines = head.content(asked.comment.encode())[layout.header :]
    rows = [fields_of(line, layout.delimiter) for line in lines]
    ends = (layout.found.source, layout.found.target)
    rows = [row for row in rows if len(row) > max(ends)]
    return [[row[place].decode("utf-8", "replace") for place in ends] for row in rows]


def _quoted(text: str) -> str:
    return json.dumps(_printable(text), ensure_ascii=False)


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


_INTEGER = re.compile(r"0|-?[1-9][0-9]*")

RANDOM = "{random: 4, seed: 1}"
"""The sources where none are named."""


def _sources(texts: Sequence[str]) -> str:
    """Write ids as YAML: an integer plain, any other id in quotes."""
    ids = [each if _INTEGER.fullmatch(each) else quoted(each) for each in split_ids(texts)]
    return f"[{', '.join(ids)}]" if ids else RANDOM


def quoted(text: str) -> str:
    """Write a text in quotes, so that YAML and references leave it as it is."""
    return visible(json.dumps(text.replace("${", "$${"), ensure_ascii=False))


def default_text(
    file: str,
    sources: Sequence[str] = (),
    *,
    found: Sequence[str] = (),
    examples: str = "[1, 2]",
    settings: Mapping[str, str] | None = None,
    more: str = "",
    others: Sequence[str] = (),
) -> str:
    """Return the workflow for a data file.

    `found` are comment lines on what is known of it, `examples` some of its ids, `settings` what `ingest`
    must be given, and `more` further entries. With `others`, or if it is a folder or a pattern, it is many
    files.
    """
    name = visible(name_of(file))
    about = f"A breadth-first search over {name}, verified against the graph alone, with a page."
    given = "".join(f", {key}: {value}" for key, value in ({"format": "auto"} | dict(settings or {})).items())
    key = "files" if others or is_several(file) else "file"
    files = f"[{', '.join(map(quoted, [file, *others]))}]" if others else quoted(file)
    seen = visible("".join(f"# {line}".rstrip() + "\n" for line in found))
    return f"""\
# Run it with `gravel run`; `gravel plan` shows before what it takes.
{seen}workflow: {quoted(name.partition(".")[0] or name)}
about: {quoted(about)}

parameters:
  # Relative paths: beside this workflow first, else in the current folder. A URL works, too.
  {key}: {files}
  # Ids as the file writes them, such as {examples}, or random ones.
  sources: {_sources(sources)}

stages:
  # The format is detected; `gravel stages ingest` lists the formats and what else can be set.
  edges:   {{stage: ingest, {key}: "${{{key}}}"{given}}}
  # Every edge in both directions. `direction: as_given` searches along the arcs only.
  graph:   {{stage: symmetrize, input: edges, direction: both}}
  # Distance and predecessor of every vertex. `algorithm: components` (without sources) finds components.
  bfs:     {{stage: traverse, input: graph, algorithm: bfs, sources: "${{sources}}"}}
  check:   {{stage: verify, graph: graph, traversal: bfs}}
  summary: {{stage: report, inputs: [graph, bfs, check], title: {quoted(f"BFS over {name}")}}}
{more}"""


def workflow_text(
    file: str, sources: Sequence[str], given: Mapping[str, str], others: Sequence[str] = ()
) -> str:
    """Return the workflow for a data file, whose beginning is read if it lies on this machine.

    `given` are parameters of ingest, as YAML has them. With `others`, or if it is a folder or a pattern,
    there are many files, of which the first is looked into.
    """
    try:
        first = file if is_url(file) else expanded([file])[0]
        settings = dict(given) if is_url(file) else inspect_file(first, split_ids(sources), given).settings
    except (StageError, OSError):
        settings = given  # `ingest` says what is wrong, when it reads the file
    return default_text(file, sources, settings=settings, others=others)


def load_default(
    file: str,
    sources: Sequence[str],
    overrides: Mapping[str, str],
    given: Mapping[str, str] | None = None,
    others: Sequence[str] = (),
) -> Workflow:
    """Read the workflow that stands for data files; raises WorkflowError that names the first."""
    text = workflow_text(file, sources, given or {}, others)
    source = Text(f"{shown(file)} (default workflow)", text)
    path = Path(name_of(file) if is_url(file) else file)
    # Nobody wrote its lines: what is wrong with it is wrong with the file, or with an option.
    place = Location(shown(file), 0, 0)
    try:
        workflow = read_workflow(source, path, overrides, known_stages())
    except WorkflowError as error:
        problems = []
        for problem in error.problems:
            if problem.location is None or problem.location.file == source.name:  # else it is an option's
                hint = "ids are as the file writes them" if "${" in (problem.hint or "") else problem.hint
                problem = Problem(problem.message, hint, place)
            problems.append(problem)
        raise WorkflowError(problems) from None
    entries = {}
    for name, entry in workflow.stages.items():
        variants = {
            choice: replace(variant, files=dict.fromkeys(variant.files, place))
            for choice, variant in entry.variants.items()
        }
        entries[name] = replace(entry, location=place, variants=variants)
    return replace(workflow, stages=entries)
