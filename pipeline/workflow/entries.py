"""Entries of `stages:` taken apart: stage, inputs of each slot, parameters; and the files of `outputs`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gravel.pipeline.core.durations import FORM, parse_duration
from gravel.pipeline.core.errors import Location
from gravel.pipeline.core.names import either, nearest, suggest
from gravel.pipeline.plugins.packages import RESERVED
from gravel.pipeline.workflow.model import OutputFile, StageEntry
from gravel.pipeline.workflow.nodes import MapNode, Node, ScalarNode, is_null, to_text
from gravel.pipeline.workflow.values import Scope, listed
from gravel.stages.artifact import Json
from gravel.stages.stage import Stage

REPEAT = "repeat"
LIMIT = "time_limit"
MAX_REPETITIONS = 1000


@dataclass(frozen=True)
class Named:
    """The full name of an entry where it is used as an input; `prefix` is that of the file that names it."""

    name: str
    location: Location
    prefix: str = ""


@dataclass(frozen=True)
class Draft:
    """An entry whose own parts are read, before inputs are followed and parameters checked.

    `slots` has the full names of the entries that feed it, `scope` is the file that it stands in.
    """

    entry: StageEntry
    slots: Mapping[str, tuple[Named, ...]]
    parameters: MapNode
    scope: Scope


def read_entry(
    name: str, node: Node, place: Location, scope: Scope, stages: Mapping[str, Stage]
) -> Draft | None:
    """Read one entry; returns None if not even its stage is known. Faults are noted."""
    if not scope.is_name(name, place):
        return None
    if not isinstance(node, MapNode):
        scope.fault(
            place, f"the entry {name!r} is no mapping", f"write it like {name}: {{stage: ingest, ...}}"
        )
        return None
    reader = _EntryReader(name, node, place, scope)
    stage = reader.stage(stages)
    if stage is None:
        return None
    slots = reader.slots(stage)
    rest = {key: item for key, item in node.items.items() if key not in (*RESERVED, *stage.inputs)}
    entry = StageEntry(
        name=scope.prefix + name,
        stage=stage,
        about=about_of(node, scope),
        keep=reader.keep(),
        gathers=reader.gathers(stage),
        location=place,
        repeat=reader.repeat(stage),
        time_limit=reader.time_limit(),
    )
    keys = {key: node.keys[key] for key in rest}
    return Draft(entry, slots, MapNode(node.line, node.column, rest, keys, node.size), scope)


def about_of(entry: MapNode, scope: Scope) -> str:
    """Return what an entry is for."""
    about = entry.items.get("about")
    if isinstance(about, ScalarNode):
        return about.text
    if about is not None:
        scope.fault(about, "`about` is a text")
    return ""


@dataclass(frozen=True)
class _EntryReader:
    """Reads the keys of one entry that are not parameters of its stage."""

    name: str
    node: MapNode
    place: Location
    scope: Scope

    def fault(self, key: str, message: str, hint: str | None = None) -> None:
        """Note a fault at the value of a key, or at the entry if it has no such key."""
        self.scope.fault(self.node.items.get(key, self.place), message, hint)

    def value(self, key: str, default: Json) -> Json:
        """Return the value of a key; the default if it is not there or has a fault."""
        node = self.node.items.get(key)
        filled = self.scope.fixed(node) if node is not None else None
        return default if filled is None else filled.value

    def stage(self, stages: Mapping[str, Stage]) -> Stage | None:
        node = self.node.items.get("stage")
        if node is None:
            keys = [key for key in self.node.items if key not in RESERVED]
            hint = f"add stage: NAME; {', '.join(stages)}"
            for meant in ("use", "stage"):
                close = nearest(meant, keys)
                hint = f"write {meant} instead of {close}" if close else hint
            self.fault("stage", f"the entry {self.name!r} does not say which stage it runs", hint)
            return None
        wanted = self.scope.fixed(node)
        if wanted is None:
            return None
        if not isinstance(wanted.value, str) or wanted.value not in stages:
            name = to_text(wanted.value)
            self.fault("stage", f"there is no stage {name!r:.60}", suggest(name, stages, "stage"))
            return None
        return stages[wanted.value].given(self.node.items)

    def keep(self) -> bool:
        keep = self.value("keep", True)
        if isinstance(keep, bool):
            return keep
        self.fault(
            "keep",
            f"`keep` is {to_text(keep)!r:.60}, and true or false is expected",
            "write keep: true (the default) to store its result, or keep: false to make it again in each run",
        )
        return True

    def repeat(self, stage: Stage) -> int:
        if REPEAT not in self.node.items:
            return 1
        times = self.value(REPEAT, 1)
        if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= MAX_REPETITIONS:
            found = f"`repeat` is {to_text(times)!r:.60}"
            self.fault(REPEAT, f"{found}, and a number from 1 to {MAX_REPETITIONS} is expected")
            return 1
        if not stage.measures:
            message = f"stage {stage.name} measures nothing, so that repeating it gives the same result"
            self.fault(REPEAT, message, "repeat a stage such as traverse")
        if REPEAT in (axis.rpartition(".")[2] for axis in self.scope.values.coordinates):
            message = "`repeat` counts repetitions in keys, and the matrix has an axis of that name"
            self.fault(REPEAT, message, "rename the axis")
        return times

    def time_limit(self) -> float | None:
        value = self.value(LIMIT, None)
        try:
            return None if value is None else parse_duration(value)
        except ValueError as error:
            self.fault(LIMIT, f"`{LIMIT}`: {error}", FORM)
            return None

    def slots(self, stage: Stage) -> dict[str, tuple[Named, ...]]:
        """Return the entries that feed each slot."""
        before = len(self.scope.faults)
        found: dict[str, tuple[Named, ...]] = {}
        items = self.node.items
        lone = next(iter(stage.inputs)) if len(stage.inputs) == 1 else None
        if "input" in items and "input" not in stage.inputs:
            self._put(lone, "input", items["input"], stage, found)
        inputs = items.get("inputs")
        if isinstance(inputs, MapNode):
            for slot, item in inputs.items.items():
                if slot in stage.inputs:
                    self._put(slot, slot, item, stage, found)
                else:
                    hint = suggest(slot, stage.inputs, "slot")
                    self.scope.fault(inputs.keys[slot], f"stage {stage.name} has no slot {slot!r}", hint)
        elif inputs is not None and "inputs" not in stage.inputs:
            many = next((slot for slot, each in stage.inputs.items() if each.many), lone)
            self._put(many, "inputs", inputs, stage, found)
        for slot in stage.inputs:
            if slot in items and not (slot == "inputs" and isinstance(inputs, MapNode)):
                self._put(slot, slot, items[slot], stage, found)
        if len(self.scope.faults) == before:
            self._note_missing(stage, found)
        return found

    def _put(
        self, slot: str | None, key: str, node: Node, stage: Stage, found: dict[str, tuple[Named, ...]]
    ) -> None:
        fault = self.scope.fault
        if slot is None and not stage.inputs:
            fault(node, f"stage {stage.name} takes no input", f"remove `{key}`")
        elif slot is None:
            hint = "name each, like " + ", ".join(f"{each}: ENTRY" for each in stage.inputs)
            taken = f"takes the inputs {', '.join(stage.inputs)}, and `{key}` names none of them"
            fault(node, f"stage {stage.name} {taken}", hint)
        elif slot in found:
            fault(node, f"the input `{slot}` is given twice", "keep one of the two")
        else:
            names = self._entry_names(node)
            if not stage.inputs[slot].many and len(names) > 1:
                fault(node, f"`{slot}` of stage {stage.name} takes one entry, and {len(names)} are named")
                names = names[:1]
            found[slot] = tuple({each.name: each for each in names}.values())

    def _entry_names(self, node: Node) -> list[Named]:
        scope = self.scope
        filled = scope.fixed(node)
        if filled is None:
            return []
        names = []
        for each, written in listed(filled.value, node):
            given = scope.values.origin_of(written)
            place = scope.at(written) if given is None else given.location
            prefix = scope.prefix if given is None else given.prefix
            if isinstance(each, str):
                names.append(Named(prefix + each, place, prefix))
            else:
                scope.fault(place, f"{to_text(each)!r:.60} is no name of an entry")
        if filled.value == []:
            scope.fault(node, "the list of inputs is empty", "name at least one entry")
        return names

    def _note_missing(self, stage: Stage, found: Mapping[str, tuple[Named, ...]]) -> None:
        for slot, each in stage.inputs.items():
            if slot in found or each.optional:
                continue
            fit = "anything" if len(each.kinds) > 5 else either(each.kinds)
            key = slot if len(stage.inputs) > 1 else "inputs" if each.many else "input"
            message = f"the entry {self.name!r} (stage {stage.name}) needs `{key}`: {each.about}"
            entries = "[ENTRY, ...]" if each.many else "ENTRY"
            self.scope.fault(self.place, message, f"add {key}: {entries} that gives {fit}")

    def gathers(self, stage: Stage) -> frozenset[str]:
        """Return the full names of the axes that `over` gathers."""
        over = self.value("over", "none")
        axes = self.scope.values.own_axes
        if over in ("none", None):
            return frozenset()
        if not any(slot.many for slot in stage.inputs.values()):
            message = f"stage {stage.name} has no slot for several inputs, so it cannot gather"
            self.fault("over", message, "`over` belongs to a stage such as report")
            return frozenset()
        if over == "matrix":
            return frozenset(axes.values())
        if not isinstance(over, list):
            message = f"`over` is {to_text(over)!r:.60}, and matrix, none or a list of axes is expected"
            self.fault("over", message, f"did you mean over: [{over}]?" if to_text(over) in axes else None)
            return frozenset()
        for axis in map(to_text, over):
            if axis not in (*axes, *self.scope.values.broken):
                hint = suggest(axis, axes, "matrix axis")
                self.fault("over", f"there is no matrix axis {axis!r:.60}", hint)
        return frozenset(axes[axis] for axis in over if isinstance(axis, str) and axis in axes)


_OUTPUTS_LIKE = "write it like outputs: {components: 'out/{dataset}.parquet'}"


def read_outputs(scope: Scope, entries: Collection[str]) -> tuple[OutputFile, ...]:
    """Return the files that a workflow names, each with the entry whose results it gets; faults are noted."""
    node = scope.top.items.get("outputs")
    if node is None or is_null(node):
        return ()
    if not isinstance(node, MapNode):
        scope.fault(node, "`outputs` is no mapping of entries to names of files", _OUTPUTS_LIKE)
        return ()
    found = []
    for entry, item in node.items.items():
        if entry not in entries:
            hint = suggest(entry, entries, "entry")
            scope.fault(node.keys[entry], f"`outputs` names {entry!r}, and there is no such entry", hint)
            continue
        filled = scope.fixed(item, "an axis stands in single braces, as in {dataset}")
        for name, where in listed(filled.value, item) if filled is not None else ():
            if isinstance(name, str) and name.strip():
                found.append(OutputFile(entry, name, scope.at(where)))
            else:
                scope.fault(where, f"{to_text(name)!r:.60} is no name of a file", _OUTPUTS_LIKE)
    return tuple(found)
