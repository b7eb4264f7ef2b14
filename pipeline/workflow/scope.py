"""One file of a workflow while it is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from gravel.pipeline.core.errors import Location
from gravel.pipeline.core.names import suggest
from gravel.pipeline.workflow.faults import Faults
from gravel.pipeline.workflow.nodes import MapNode, Node, Text
from gravel.pipeline.workflow.substitution import Filled, Reference, fill, references
from gravel.pipeline.workflow.values import NAME, Values, Varying

__all__ = ["Scope"]


@dataclass
class Scope:
    """A file being read: its tree, what its names stand for, and where its faults are noted.

    `prefix` stands before the names of its entries and axes if another file uses it; `chain` holds the
    files that use each other, this one last.
    """

    source: Text
    path: Path
    top: MapNode
    faults: Faults
    values: Values = field(default_factory=Values)
    prefix: str = ""
    chain: tuple[Path, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder from which the file's paths count."""
        return self.path.absolute().parent

    def at(self, node: Node) -> Location:
        """Return the place of a node."""
        return self.source.at(node)

    def fault(self, where: Node | Location, message: str, hint: str | None = None) -> None:
        """Note a fault."""
        self.faults.add(message, hint, where if isinstance(where, Location) else self.at(where))

    def unknown(self, reference: Reference, what: str, known: Iterable[str]) -> None:
        """Note a reference to what has no value, unless its own fault is noted already."""
        if reference.name is None:
            hint = "write ${name}; $${ stands for a literal ${"
            self.fault(reference.location, f"{reference.text!r} is no reference", hint)
        elif reference.name not in self.values.broken:
            hint = suggest(reference.name, known, what)
            self.fault(reference.location, f"there is no {what} {reference.name!r}", hint)

    def fixed(self, node: Node, hint: str = "write one entry for each case") -> Filled | None:
        """Fill in a part that may refer to fixed parameters only; None after a fault.

        `hint` says what to do instead of a reference to an axis.
        """
        values, sound = self.values, True
        for reference in references(node, self.source):
            name = reference.name
            if name is not None and name in values.varying:
                message = f"{values.describe_axis(name)} cannot decide this; it can only set parameters"
                self.fault(reference.location, message, hint)
            elif name not in values.parameters:
                self.unknown(reference, "parameter", values.names)
            sound = sound and name in values.parameters
        if sound:
            with self.faults.noted():
                return fill(node, values.parameters, self.source)
        return None

    def evaluate(self, node: Node) -> Filled | Varying | None:
        """Fill in what may refer to parameters and axes, for each choice of these; None after a fault."""
        sound = True
        for reference in references(node, self.source):
            if reference.name is None or not self.values.known(reference.name):
                self.unknown(reference, "parameter or matrix axis", self.values.names)
                sound = False
        if sound:
            with self.faults.noted():
                return self.values.evaluate(node, self.source)
        return None

    def is_name(self, name: str, where: Node | Location) -> bool:
        """Say whether a text can be a name; one that cannot is noted."""
        good = NAME.fullmatch(name) is not None
        if not good:
            hint = "use letters, digits, _ and -, beginning with a letter"
            self.fault(where, f"{name!r} cannot be a name", hint)
        return good
