"""The keys of one entry of `stages:` that are not parameters of its stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gravel.pipeline.core.durations import FORM, parse_duration
from gravel.pipeline.core.errors import Location, WorkflowError
from gravel.pipeline.core.names import either, nearest, suggest
from gravel.pipeline.plugins.reserved_keys import RESERVED
from gravel.pipeline.workflow.faults import Faults
from gravel.pipeline.workflow.nodes import ListNode, MapNode, Node, ScalarNode, Text
from gravel.pipeline.workflow.scalars import to_text
from gravel.pipeline.workflow.substitution import fill, references
from gravel.pipeline.workflow.values import Values, malformed
from gravel.stages.artifacts import Json
from gravel.stages.stage import Stage

__all__ = ["LIMIT", "MAX_REPETITIONS", "REPEAT", "EntryReader", "Named"]


REPEAT = "repeat"
LIMIT = "time_limit"
MAX_REPETITIONS = 1000


@dataclass(frozen=True)
class Named:
    """The full name of an entry where it is used as an input; `prefix` is that of the file that names it."""

    name: str
    location: Location
    prefix: str = ""


class EntryReader:
    """Reads the keys of one entry that are not parameters."""

    def __init__(
        self,
        name: str,
        node: MapNode,
        place: Location,
        values: Values,
        source: Text,
        faults: Faults,
        prefix: str,
    ) -> None:
        self.name = name
        self.node = node
        self.place = place
        self.values = values
        self.source = source
        self.faults = faults
        self.prefix = prefix

    def at(self, key: str) -> Location:
        """Return the place of a key's value, or of the entry."""
        return self.source.at(self.node.items[key]) if key in self.node.items else self.place

    def filled(self, node: Node) -> Json:
        """Resolve a part that may refer to parameters but not to axes; None after a fault."""
        for reference in references(node, self.source):
            wanted = reference.name
            if wanted is None:
                self.faults.add(*malformed(reference.text), reference.location)
                return None
            if wanted in self.values.broken:
                return None
            if wanted in self.values.varying:
                message = (
                    f"{self.values.describe_axis(wanted)} cannot decide this; it can only set parameters"
                )
                self.faults.add(message, "write one entry for each case", reference.location)
                return None
            if wanted not in self.values.parameters:
                hint = suggest(wanted, self.values.names, "parameter")
                self.faults.add(f"there is no parameter {wanted!r}", hint, reference.location)
                return None
        try:
            return fill(node, self.values.parameters, self.source).value
        except WorkflowError as error:
            for problem in error.problems:
                self.faults.add_problem(problem)
            return None

    def plain(self, key: str, default: Json) -> Json:
        """Return the value of a key; the default after a fault."""
        if key not in self.node.items:
            return default
        before = len(self.faults)
        value = self.filled(self.node.items[key])
        return default if value is None and len(self.faults) > before else value

    def about(self) -> str:
        """Return what the entry is for."""
        about = self.node.items.get("about")
        if about is not None and not isinstance(about, ScalarNode):
            self.faults.add("`about` is a text", None, self.source.at(about))
        return about.text if isinstance(about, ScalarNode) else ""

    def repeat(self, stage: Stage) -> int:
        """Return how often a measuring stage runs."""
        if REPEAT not in self.node.items:
            return 1
        times, place = self.plain(REPEAT, 1), self.at(REPEAT)
        if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= MAX_REPETITIONS:
            message = (
                f"`repeat` is {to_text(times)!r:.60}, and a number from 1 to {MAX_REPETITIONS} is expected"
            )
            self.faults.add(message, None, place)
            return 1
        if not stage.measures:
            message = f"stage {stage.name} measures nothing, so that repeating it gives the same result"
            self.faults.add(message, "repeat a stage such as traverse", place)
        if REPEAT in (axis.rpartition(".")[2] for axis in self.values.axes.coordinates):
            message = "`repeat` counts repetitions in keys, and the matrix has an axis of that name"
            self.faults.add(message, "rename the axis", place)
        return times

    def time_limit(self) -> float | None:
        """Return how many seconds a run of the entry may take."""
        value = self.plain(LIMIT, None)
        if value is None:
            return None
        try:
            return parse_duration(value)
        except ValueError as error:
            self.faults.add(f"`{LIMIT}`: {error}", FORM, self.at(LIMIT))
            return None

    def stage(self, stages: Mapping[str, Stage]) -> Stage | None:
        """Return the stage that the entry runs; None after a fault."""
        if "stage" not in self.node.items:
            keys = [key for key in self.node.items if key not in RESERVED]
            hint = f"add stage: NAME; {', '.join(stages)}"
            for meant in ("use", "stage"):
                close = nearest(meant, keys)
                hint = f"write {meant} instead of {close}" if close else hint
            self.faults.add(f"the entry {self.name!r} does not say which stage it runs", hint, self.place)
            return None
        before = len(self.faults)
        wanted = self.filled(self.node.items["stage"])
        if len(self.faults) > before or (wanted is None and self.values.broken):
            return None
        if not isinstance(wanted, str) or wanted not in stages:
            self.faults.add(
                f"there is no stage {to_text(wanted)!r:.60}",
                suggest(to_text(wanted), stages, "stage"),
                self.at("stage"),
            )
            return None
        return stages[wanted]

    def slots(self, stage: Stage) -> dict[str, tuple[Named, ...]]:
        """Return the entries that feed each slot."""
        found: dict[str, tuple[Named, ...]] = {}
        items = self.node.items
        if "input" in items and "input" not in stage.inputs:
            slot = next(iter(stage.inputs)) if len(stage.inputs) == 1 else None
            self._put(slot, "input", items["input"], stage, found)
        inputs = items.get("inputs")
        if isinstance(inputs, MapNode):
            for slot, item in inputs.items.items():
                if slot in stage.inputs:
                    self._put(slot, slot, item, stage, found)
                else:
                    self.faults.add(
                        f"stage {stage.name} has no slot {slot!r}",
                        suggest(slot, stage.inputs, "slot"),
                        self.source.at(inputs.keys[slot]),
                    )
        elif inputs is not None and "inputs" not in stage.inputs:
            many = [slot for slot, each in stage.inputs.items() if each.many]
            slot = many[0] if many else next(iter(stage.inputs)) if len(stage.inputs) == 1 else None
            self._put(slot, "inputs", inputs, stage, found)
        for slot in stage.inputs:
            if slot in items and not (slot == "inputs" and isinstance(inputs, MapNode)):
                self._put(slot, slot, items[slot], stage, found)
        return found

    def _put(
        self, slot: str | None, key: str, node: Node, stage: Stage, found: dict[str, tuple[Named, ...]]
    ) -> None:
        place = self.source.at(node)
        if slot is None:
            if not stage.inputs:
                self.faults.add(f"stage {stage.name} takes no input", f"remove `{key}`", place)
            else:
                there = ", ".join(stage.inputs)
                hint = "name each, like " + ", ".join(f"{each}: ENTRY" for each in stage.inputs)
                self.faults.add(f"stage {stage.name} has the slots {there}; `{key}` fits none", hint, place)
            return
        if slot in found:
            self.faults.add(f"the slot {slot!r} is filled twice", "keep one of the two", place)
            return
        names = self._entry_names(node)
        if not stage.inputs[slot].many and len(names) > 1:
            what = f"the slot {slot!r} of stage {stage.name} takes one entry, and {len(names)} are named"
            self.faults.add(what, None, place)
            names = names[:1]
        found[slot] = tuple({each.name: each for each in names}.values())

    def _entry_names(self, node: Node) -> list[Named]:
        before = len(self.faults)
        value = self.filled(node)
        if len(self.faults) > before or (value is None and self.values.broken):
            return []
        nodes = node.items if isinstance(node, ListNode) else ()
        wanted = value if isinstance(value, list) else [value]
        names = []
        for position, each in enumerate(wanted):
            written = nodes[position] if position < len(nodes) else node
            given = self.values.origin_of(written)
            place = self.source.at(written) if given is None else given.location
            prefix = self.prefix if given is None else given.prefix
            if isinstance(each, str):
                names.append(Named(prefix + each, place, prefix))
            else:
                self.faults.add(f"{to_text(each)!r:.60} is no name of an entry", None, place)
        if not wanted:
            self.faults.add("the list of inputs is empty", "name at least one entry", self.source.at(node))
        return names

    def missing(self, stage: Stage, slots: list[str]) -> None:
        """Note that nothing feeds these slots."""
        lone = len(stage.inputs) == 1
        for slot in slots:
            kinds = stage.inputs[slot].kinds
            fit = "anything" if len(kinds) > 5 else either(kinds)
            key = ("inputs" if stage.inputs[slot].many else "input") if lone else slot
            self.faults.add(
                f"the entry {self.name!r} (stage {stage.name}) needs `{key}`: {stage.inputs[slot].about}",
                f"add {key}: {'[ENTRY, ...]' if stage.inputs[slot].many else 'ENTRY'} that gives {fit}",
                self.place,
            )

    def gathers(self, stage: Stage) -> frozenset[str]:
        """Return the full names of the axes that `over` gathers."""
        over = self.plain("over", "none")
        axes = self.values.own_axes
        if over in ("none", None):
            return frozenset()
        place = self.at("over")
        if not any(slot.many for slot in stage.inputs.values()):
            self.faults.add(
                f"stage {stage.name} has no slot for several inputs, so it cannot gather",
                "`over` belongs to a stage such as report",
                place,
            )
            return frozenset()
        if over == "matrix":
            return frozenset(axes.values())
        if not isinstance(over, list):
            message = f"`over` is {to_text(over)!r:.60}, and matrix, none or a list of axes is expected"
            self.faults.add(
                message, f"did you mean over: [{over}]?" if to_text(over) in axes else None, place
            )
            return frozenset()
        for axis in over:
            if to_text(axis) not in (*axes, *self.values.broken):
                hint = suggest(to_text(axis), axes, "matrix axis")
                self.faults.add(f"there is no matrix axis {to_text(axis)!r:.60}", hint, place)
        return frozenset(axes[axis] for axis in over if isinstance(axis, str) and axis in axes)
