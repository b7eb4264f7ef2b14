"""Which output of which entry feeds each slot, and an order in which every entry comes after its inputs."""

from __future__ import annotations

from collections.abc import Mapping

from gravel.pipeline.core.names import either, suggest
from gravel.pipeline.workflow.entries import Draft, Named
from gravel.pipeline.workflow.faults import Faults
from gravel.pipeline.workflow.model import EntryOutput

__all__ = ["in_order", "wire"]

Inputs = dict[str, tuple[EntryOutput, ...]]


def wire(drafts: Mapping[str, Draft], all_names: list[str], faults: Faults) -> dict[str, Inputs]:
    """Choose outputs by kind: the first that fits, or for a slot that takes several, all that fit.

    `all_names` are the entries of the file, those included that could not be read.
    """
    return {
        name: {slot: _wire_slot(draft, slot, drafts, all_names, faults) for slot in draft.slots}
        for name, draft in drafts.items()
    }


def _wire_slot(
    draft: Draft, slot: str, drafts: Mapping[str, Draft], all_names: list[str], faults: Faults
) -> tuple[EntryOutput, ...]:
    entry = draft.entry
    declared = entry.stage.inputs[slot]
    found: list[EntryOutput] = []
    for named in draft.slots[slot]:
        giver = drafts.get(named.name)
        if giver is None:
            if named.name not in all_names:
                _note_unknown(entry.name, named, all_names, faults)
            continue
        given = giver.entry.stage.outputs
        fitting = [
            EntryOutput(named.name, position) for position, kind in enumerate(given) if kind in declared.kinds
        ]
        if not fitting:
            takers = [
                name
                for name, other in drafts.items()
                if name != entry.name and set(other.entry.stage.outputs) & set(declared.kinds)
            ]
            faults.add(
                f"`{slot}` of {entry.name!r} (stage {entry.stage.name}) takes "
                f"{either(declared.kinds)}, and {named.name!r} (stage {giver.entry.stage.name}) gives "
                f"{' and '.join(given)}",
                f"these fit: {', '.join(takers)}" if takers else None,
                named.location,
            )
        found += fitting if declared.many else fitting[:1]
    return tuple(found)


def _note_unknown(user: str, named: Named, all_names: list[str], faults: Faults) -> None:
    """Note that an entry is not there, in the words of the file that names it."""
    prefix = named.prefix
    here = [name.removeprefix(prefix) for name in all_names if name.startswith(prefix) and name != user]
    written = named.name.removeprefix(prefix)
    inside = [name for name in here if name.startswith(f"{written}.")]
    if inside:
        message = f"{written!r} is a whole workflow, and an entry is expected"
        faults.add(message, f"name one of its entries: {', '.join(inside)}", named.location)
    else:
        faults.add(f"there is no entry {written!r}", suggest(written, here, "entry"), named.location)


def in_order(drafts: Mapping[str, Draft], faults: Faults) -> list[str]:
    """Sort entries so that each follows its inputs, else in the order of the file; a cycle is a fault."""
    order: list[str] = []
    state: dict[str, int] = {}  # 1 while being visited, 2 when done

    for start in drafts:
        path: list[tuple[str, list[str]]] = [(start, _feeds(drafts, start))] if start not in state else []
        state.setdefault(start, 1)
        while path:
            name, waiting = path[-1]
            if not waiting:
                path.pop()
                state[name] = 2
                order.append(name)
                continue
            wanted = waiting.pop(0)
            if state.get(wanted) == 1:
                names = [each for each, _ in path]
                circle = names[names.index(wanted) :]
                _note_circle(drafts, circle, faults)
            elif wanted not in state:
                state[wanted] = 1
                path.append((wanted, _feeds(drafts, wanted)))
    return order


def _feeds(drafts: Mapping[str, Draft], name: str) -> list[str]:
    named = [each.name for slot in drafts[name].slots.values() for each in slot]
    return [each for each in dict.fromkeys(named) if each in drafts]


def _note_circle(drafts: Mapping[str, Draft], circle: list[str], faults: Faults) -> None:
    first = drafts[circle[0]]
    wanted = circle[1] if len(circle) > 1 else circle[0]
    place = next(
        (named.location for slot in first.slots.values() for named in slot if named.name == wanted),
        first.entry.location,
    )
    message = " needs ".join([*circle, circle[0]])
    faults.add(f"the entries form a circle: {message}", "one of these inputs must come from elsewhere", place)
