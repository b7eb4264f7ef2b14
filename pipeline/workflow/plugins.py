"""The section `plugins:` of a workflow: files, named one by one, whose stages the workflow may use."""

from __future__ import annotations

import traceback
from collections import ChainMap
from collections.abc import Mapping, MutableMapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from gravel.pipeline.core.errors import Location, RequestError
from gravel.pipeline.core.names import nearest
from gravel.pipeline.plugins.files import PluginSource, import_source, read_source
from gravel.pipeline.plugins.packages import faults_of
from gravel.pipeline.workflow.nodes import ListNode, MapNode, Node, ScalarNode, Text, is_null, parse
from gravel.pipeline.workflow.source import Faults, read_workflow_text
from gravel.pipeline.workflow.values import Scope
from gravel.stages.stage import Origin, Stage

SECTION = "plugins"


def stages_for(path: Path, known: Mapping[str, Stage]) -> Mapping[str, Stage]:
    """Add to known stages those of a workflow file's plugins; nothing else of the file need be right.

    Raises RequestError if it cannot be read and WorkflowError for faults of its plugins.
    """
    source = read_workflow_text(path)
    root, _ = parse(source)
    if not isinstance(root, MapNode):
        return known
    faults = Faults()
    found = with_plugins(Scope(source, path, root, faults), known)
    faults.raise_if_any()
    return found


def with_plugins(scope: Scope, stages: Mapping[str, Stage]) -> Mapping[str, Stage]:
    """Return the stages with those of the files that a workflow names; faults are noted.

    Paths count from the folder of the workflow file. A file is imported once for each content.
    """
    node = scope.top.items.get(SECTION)
    if node is None or is_null(node):
        return stages
    if not isinstance(node, ListNode):
        scope.fault(node, "`plugins` is no list", "write it like plugins: [my_stages.py]")
        return stages
    added: dict[str, Stage] = {}
    seen: set[str] = set()
    for item in node.items:
        read = _named(item, scope)
        if read is None:
            continue
        name = Path(read.path).name
        if read.path in seen:
            scope.fault(item, f"the plugin {name} is named twice", "keep one of the two")
            continue
        seen.add(read.path)
        before = len(scope.faults)
        for stage in _stages_in(read, scope.at(item), scope.faults):
            if stage.name in stages or stage.name in added:
                other = added.get(stage.name)
                owner = Path(other.origin.place).name if other is not None and other.origin else None
                there = f"{owner} adds one of that name" if owner else "there is one of that name"
                message = f"{name} adds a stage {stage.name!r}, and {there}"
                scope.fault(item, message, f"give it another name in {read.path}")
            elif len(scope.faults) == before:
                added[stage.name] = stage
    # Stages of packages are still imported only when they are asked for.
    return ChainMap(added, cast("MutableMapping[str, Stage]", stages))


def read_plugin(path: Path) -> dict[str, Stage]:
    """Import a plugin file and return its stages; raises RequestError for whatever is wrong with it.

    For notebooks and tests; a workflow's own plugins are read with the workflow.
    """
    name = str(path.absolute())
    node = ListNode(1, 1, (ScalarNode(1, 1, name, name),), 2)
    top = MapNode(1, 1, {SECTION: node}, {}, 3)
    scope = Scope(Text(str(path), ""), path, top, Faults())
    found = with_plugins(scope, {})
    try:
        scope.faults.raise_if_any()
    except RequestError as error:
        problem = error.problems[0]
        place = Location(str(path), 1, 1)
        raise RequestError(problem.message, hint=problem.hint, location=place) from None
    return dict(found)


def _named(item: Node, scope: Scope) -> PluginSource | None:
    name = item.value if isinstance(item, ScalarNode) else None
    if not isinstance(name, str) or not name:
        scope.fault(item, "a plugin is named by the path of its file", "such as my_stages.py")
        return None
    if "${" in name:
        scope.fault(item, "the name of a plugin cannot refer to parameters", "write the path itself")
        return None
    path = scope.folder / name
    if path.suffix != ".py":
        hint = "name a file that ends in .py; an installed package needs no plugins: its stages are there"
        scope.fault(item, f"the plugin {name!r:.80} is no Python file", hint)
        return None
    try:
        return read_source(path)
    except FileNotFoundError:
        there = sorted(each.name for each in path.parent.glob("*.py")) if path.parent.is_dir() else []
        meant = nearest(path.name, there)
        hint = f"paths count from the workflow's folder, {scope.folder}"
        hint = f"did you mean {meant!r}?" if meant else hint
        scope.fault(item, f"there is no plugin {name!r:.80}", hint)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        scope.fault(item, f"the plugin {name!r:.80} cannot be read: {reason}")
    return None


def _stages_in(source: PluginSource, place: Location, faults: Faults) -> list[Stage]:
    """Import a file and return the stages at its top, each once, without those that it imported."""
    from gravel.pipeline.plugins.code import file_code

    name = Path(source.path).name
    try:
        code = file_code(source.text)
        module = import_source(source)
    except (Exception, SystemExit) as error:
        hint = _line(error, source)
        lacking = (error.name or "") if isinstance(error, ModuleNotFoundError) else ""
        if lacking and Path(source.path).with_name(f"{lacking.partition('.')[0]}.py").is_file():
            hint = f"a plugin is one file: put what {lacking}.py holds into it, or make a package of both"
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        reason = f"{type(error).__name__}: {message}" if message else type(error).__name__
        faults.add(f"the plugin {name} cannot be imported: {reason}", hint, place)
        return []
    unique = {id(value): value for value in vars(module).values() if isinstance(value, Stage)}
    own = [value for value in unique.values() if value.run.__module__ == module.__name__]
    if not own:
        hint = "end it with STAGE = Stage(...), whose `run` is a function of the file; see docs/own-stages.md"
        faults.add(f"the plugin {name} defines no stage", hint, place)
    for stage in own:
        for fault in faults_of(stage):
            faults.add(f"the stage {stage.name!r} of {name}: {fault}", f"fix it in {source.path}", place)
    return [replace(stage, origin=Origin(source.path, code)) for stage in own]


def _line(error: BaseException, source: PluginSource) -> str | None:
    """Say which line of the file is at fault."""
    if isinstance(error, SyntaxError):
        line = error.lineno
    else:
        name = Path(source.path).name
        frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).name == name]
        line = frames[-1].lineno if frames else None
    if line is None:
        return None
    lines = source.text.decode("utf-8", "replace").splitlines()
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return f"line {line} of {source.path}: {text}"
