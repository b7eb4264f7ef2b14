"""One entry of `stages:` taken apart: its stage, which entries feed which slot, and its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gravel.pipeline.core.errors import Location
from gravel.pipeline.plugins.reserved_keys import RESERVED
from gravel.pipeline.workflow.entry_reader import EntryReader, Named
from gravel.pipeline.workflow.faults import Faults
from gravel.pipeline.workflow.nodes import MapNode, Node, Text
from gravel.pipeline.workflow.scalars import to_text
from gravel.pipeline.workflow.values import NAME, Values
from gravel.stages.stage import Stage

__all__ = ["Draft", "read_entry"]


@dataclass(frozen=True)
class Draft:
    """An entry whose own parts are read, before inputs are followed and parameters checked.

    `values` and `source` are those of the file that it stands in; `name` and `slots` hold full names.
    """

    name: str
    stage: Stage
    about: str
    slots: Mapping[str, tuple[Named, ...]]
    keep: bool
    gathers: frozenset[str]
    parameters: MapNode
    location: Location
    sound: bool  # False: its inputs have faults, which are noted already
    values: Values
    source: Text
    repeat: int = 1
    time_limit: float | None = None


def read_entry(
    name: str,
    node: Node,
    place: Location,
    values: Values,
    stages: Mapping[str, Stage],
    source: Text,
    faults: Faults,
    prefix: str = "",
) -> Draft | None:
    """Read one entry; returns None if not even its stage is known. Faults are noted.

    `prefix` stands before the names of entries in a file that another one uses.
    """
    if not NAME.fullmatch(name):
        faults.add(
            f"{name!r} cannot be a name", "use letters, digits, _ and -, beginning with a letter", place
        )
        return None
    if not isinstance(node, MapNode):
        faults.add(
            f"the entry {name!r} is no mapping", f"write it like {name}: {{stage: ingest, ...}}", place
        )
        return None
    reader = EntryReader(name, node, place, values, source, faults, prefix)
    stage = reader.stage(stages)
    if stage is None:
        return None
    before = len(faults)
    slots = reader.slots(stage)
    missing = [slot for slot in stage.inputs if slot not in slots]
    sound = len(faults) == before
    if missing and sound:
        reader.missing(stage, missing)
        sound = False
    gathers = reader.gathers(stage)
    taken = {*RESERVED, *stage.inputs}
    rest = {key: item for key, item in node.items.items() if key not in taken}
    parameters = MapNode(node.line, node.column, rest, {key: node.keys[key] for key in rest}, node.size)
    keep = reader.plain("keep", True)
    if not isinstance(keep, bool):
        faults.add(f"`keep` is {to_text(keep)!r:.60}, and true or false is expected", None, reader.at("keep"))
        keep = True
    return Draft(
        name=prefix + name,
        stage=stage,
        about=reader.about(),
        slots=slots,
        keep=keep,
        gathers=gathers,
        parameters=parameters,
        location=place,
        sound=sound,
        values=values,
        source=source,
        repeat=reader.repeat(stage),
        time_limit=reader.time_limit(),
    )
