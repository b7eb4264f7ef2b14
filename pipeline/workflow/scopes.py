"""A workflow file and those that it uses, read to entries that are not yet wired to each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gravel.pipeline.core.errors import Location, Problem, WorkflowError
from gravel.pipeline.core.names import suggest
from gravel.pipeline.workflow.entries import Draft, read_entry
from gravel.pipeline.workflow.faults import Faults
from gravel.pipeline.workflow.nesting import MAX_NESTED, MAX_USES, is_use, read_use
from gravel.pipeline.workflow.nodes import ListNode, MapNode, Node, ScalarNode, Text, parse
from gravel.pipeline.workflow.parameters import read_values
from gravel.pipeline.workflow.plugins import with_plugins
from gravel.pipeline.workflow.reading import read_workflow_text
from gravel.pipeline.workflow.scope import Scope
from gravel.pipeline.workflow.substitution import Filled
from gravel.pipeline.workflow.values import Values, Varying
from gravel.stages.stage import Stage

__all__ = ["SECTIONS", "Reading"]

SECTIONS = {
    "workflow": "the workflow's name",
    "about": "what it is for",
    "parameters": "names with default values, for ${name} and --set",
    "matrix": "axes with their values, listed or named; every combination is an experiment",
    "datasets": "the axis `dataset`: files, a glob, URLs or a catalogue, each run through the same stages",
    "plugins": "Python files with stages of your own, by their paths from this file's folder",
    "stages": "the entries: which stage, from which inputs, with which parameters",
}
"""The keys of a workflow file."""


class Reading:
    """Reads a workflow with everything that it uses; `names` are all entries met, also unreadable ones."""

    def __init__(self, stages: Mapping[str, Stage], faults: Faults) -> None:
        self.faults = faults
        self.names: list[str] = []
        self._stages = stages
        self._trees: dict[Path, tuple[Text, MapNode]] = {}
        self._uses = 0
        self._overrides: dict[str, str] = {}
        self._prefixes: list[str] = []

    def main(
        self, source: Text, path: Path, top: MapNode, overrides: Mapping[str, str]
    ) -> tuple[Scope, list[Draft]]:
        """Read the file that was asked for."""
        scope = Scope(source, path, top, chain=(path.resolve(),))
        values = Values(folders=(path.absolute().parent,))
        self._overrides = dict(overrides)
        drafts = self.read(scope, values, {})
        for name in overrides:
            nest = name[: name.rfind(".") + 1]
            if nest not in self._prefixes:
                known = [prefix.rstrip(".") for prefix in self._prefixes if prefix]
                hint = suggest(nest.rstrip("."), known, "nested workflow")
                self.faults.add(f"--set {name}: there is no nested workflow {nest.rstrip('.')!r}", hint)
        return scope, drafts

    def open(self, path: Path, user: Scope, prefix: str, where: Location) -> Scope | None:
        """Open a file that another one uses; None after a fault. Raises GravelError if it cannot be read."""
        try:
            real = path.resolve()
        except (OSError, ValueError):
            self.faults.add(f"{str(path)!r} cannot be the name of a file", "name a workflow file", where)
            return None
        if real in user.chain:
            circle = [*user.chain[user.chain.index(real) :], real]
            names = " uses ".join(each.name for each in circle)
            self.faults.add(f"the workflows use each other in a circle: {names}", None, where)
            return None
        self._uses += 1
        if len(user.chain) >= MAX_NESTED or self._uses > MAX_USES:
            limit = f"{MAX_NESTED} files deep" if len(user.chain) >= MAX_NESTED else f"{MAX_USES} in all"
            if self._uses <= MAX_USES + 1:
                self.faults.add(f"too many workflows use each other; the limit is {limit}", None, where)
            return None
        if real not in self._trees:
            source = read_workflow_text(path)
            self._trees[real] = source, top_of(source, self.faults)
        source, top = self._trees[real]
        return Scope(source, path, top, prefix, (*user.chain, real))

    def read(
        self,
        scope: Scope,
        values: Values,
        given: Mapping[str, Filled | Varying | None],
    ) -> list[Draft]:
        """Read the sections of a file into `values` and drafts of its entries; faults are noted."""
        top, source = scope.top, scope.source
        folder = scope.path.absolute().parent
        stages = with_plugins(top.items.get("plugins"), folder, self._stages, source, self.faults)
        scope.values = values
        read_values(
            top.items.get("parameters"),
            top.items.get("matrix"),
            self._own_overrides(scope.prefix),
            source,
            self.faults,
            given=given,
            values=values,
            prefix=scope.prefix,
            datasets=top.items.get("datasets"),
        )
        section = top.items.get("stages")
        if section is None:
            self.faults.add(
                "there is no section `stages`, so there is nothing to run",
                "add stages: {edges: {stage: ingest, ...}}",
                source.at(top),
            )
            return []
        if not isinstance(section, MapNode) or not section.items:
            self.faults.add(
                "`stages` has no entries, and names of entries are expected",
                "write it like stages: {edges: {stage: ingest, ...}}",
                source.at(section),
            )
            return []
        # Workflows that are used come first: their axes are among those that `over` may name.
        nested: dict[str, list[Draft]] = {}
        for name, node in section.items.items():
            if is_use(node) and isinstance(node, MapNode):
                nested[name] = read_use(name, node, source.at(section.keys[name]), scope, self)
        drafts: list[Draft] = []
        for name, node in section.items.items():
            if nested.get(name):
                drafts += nested[name]
                continue
            self.names.append(scope.prefix + name)
            if name in nested:
                continue
            place = source.at(section.keys[name])
            draft = read_entry(name, node, place, values, stages, source, self.faults, scope.prefix)
            if draft is not None:
                drafts.append(draft)
        return drafts

    def _own_overrides(self, prefix: str) -> dict[str, str]:
        self._prefixes.append(prefix)
        return {
            name.removeprefix(prefix): text
            for name, text in self._overrides.items()
            if name[: name.rfind(".") + 1] == prefix
        }


def top_of(source: Text, faults: Faults) -> MapNode:
    """Parse a file and return its top; raises WorkflowError for what is no mapping."""
    root, problems = parse(source)
    for problem in problems:
        faults.add_problem(problem)
    if isinstance(root, MapNode):
        for key, node in root.keys.items():
            if key not in SECTIONS:
                faults.add(
                    f"a workflow has no section {key!r}", suggest(key, SECTIONS, "section"), source.at(node)
                )
        return root
    raise WorkflowError([_no_mapping(root, source)])


def _no_mapping(root: Node | None, source: Text) -> Problem:
    hint = "a workflow begins with `stages:`; see workflows/quickstart.yaml"
    if root is None or (isinstance(root, ScalarNode) and root.value is None):
        message = f"{source.name} is empty" if not source.text.strip() else f"{source.name} says nothing"
        return Problem(message, hint, Location(source.name, 1, 1))
    what = "a list" if isinstance(root, ListNode) else "a text"
    return Problem(f"this is {what}, and a workflow is a mapping", hint, source.at(root))
