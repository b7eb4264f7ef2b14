"""Two runs side by side: which parameters, results and times differ.

Stage runs are paired by their keys; what is left over, by the entry where either run has one of it only (a
matrix may have come in between). Two results are the same exactly if their ids are, whoever computed them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.core.hashing import flat_parts
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.records import ArtifactRecord
from gravel.stages.artifact import Json


def compare_runs(cache: Cache, old: Mapping[str, Json], new: Mapping[str, Json]) -> dict[str, Json]:
    """Compare two run records; returns plain data.

    `runs` are the two in short, `asked` what differs in what was asked and in the machine, `only_old` and
    `only_new` the keys of stage runs without a partner, and `stages` a comparison of each pair: its keys,
    states and seconds, whether the results are the `same` (None if either has none), and lists of `name`,
    `old` and `new`: `parameters` (parts of the recipe) and `results` (figures of the artifacts).
    """
    pairs, only_old, only_new = _pair(old["stages"], new["stages"])
    return {
        "runs": [_short(old), _short(new)],
        "asked": _differences(_asked(old), _asked(new)),
        "only_old": only_old,
        "only_new": only_new,
        "stages": [_compare(cache, one, other) for one, other in pairs],
    }


def _short(run: Mapping[str, Json]) -> dict[str, Json]:
    states = [each["state"] for each in run["stages"]]
    head = {name: run.get(name) for name in ("run", "state", "started", "seconds")}
    counts = {state: states.count(state) for state in ("computed", "cached", "failed")}
    return {**head, "workflow": run["workflow"]["path"], **counts}


def _asked(run: Mapping[str, Json]) -> dict[str, Json]:
    workflow, machine = run["workflow"], run.get("machine", {})
    return {
        "workflow": workflow["path"],
        **{f"parameter {name}": value for name, value in workflow.get("parameters", {}).items()},
        **{f"matrix {axis}": values for axis, values in workflow.get("matrix", {}).items()},
        **{name: machine.get(name) for name in ("hardware", "host", "backend", "cores", "versions")},
    }


def _pair(old: list[Json], new: list[Json]) -> tuple[list[tuple[Json, Json]], list[str], list[str]]:
    left = {each["key"]: each for each in old}
    rest = [each for each in new if each["key"] not in left]
    pairs = [(left.pop(each["key"]), each) for each in new if each["key"] in left]
    only_new = []
    for each in rest:
        mine = [one for one in left.values() if one["entry"] == each["entry"]]
        rivals = [one for one in rest if one["entry"] == each["entry"]]
        if len(mine) == len(rivals) == 1:
            pairs.append((left.pop(mine[0]["key"]), each))
        else:
            only_new.append(each["key"])
    return pairs, list(left), only_new


def _compare(cache: Cache, old: dict[str, Json], new: dict[str, Json]) -> dict[str, Json]:
    outputs = [old["outputs"], new["outputs"]]
    same = outputs[0] == outputs[1] if all(outputs) else None
    results = [] if same is not False else _differences(*(_figures(cache, each) for each in outputs))
    return {
        "keys": [old["key"], new["key"]],
        "stage": new["stage"],
        "states": [old["state"], new["state"]],
        "seconds": [old["seconds"], new["seconds"]],
        "errors": [old["error"], new["error"]],
        "outputs": outputs,
        "same": same,
        "parameters": _differences(*(_parts(cache, each["recipe"]) for each in (old, new))),
        "results": results or [],
        "gone": results is None,
    }


def _parts(cache: Cache, recipe: str | None) -> dict[str, Json] | None:
    record = cache.look_up(recipe) if recipe else None
    return None if record is None else dict(flat_parts(record.parts))


def _figures(cache: Cache, outputs: list[str]) -> dict[str, Json] | None:
    """Return what is known of artifacts without reading an array, or None if one is gone or damaged."""
    found: dict[str, Json] = {}
    for identity in outputs:
        record = cache.find(identity)
        if record is None:
            return None
        # Of two outputs, what one says of itself must not be taken for the other's.
        prefix = f"{record.kind} " if len(outputs) > 1 and record.kind != "Measurement" else ""
        try:
            found.update((prefix + name, value) for name, value in figures(record))
        except DamagedArtifact:
            return None
    return found


def figures(record: ArtifactRecord) -> Iterator[tuple[str, Json]]:
    """Yield the figures of an artifact: numbers and words about it, and the form of its arrays.

    Of a Measurement: medians over the searches of the milliseconds, GTEPS (distinct undirected edges) and
    billions of stored arcs per second. Of a Verification: the outcome of each check. Raises DamagedArtifact.
    """
    attributes = record.attributes
    if record.kind == "Measurement":
        yield from _measured(attributes)
    elif record.kind == "Verification":
        for check in attributes["checks"]:
            yield f"check {check['check']}", "passed" if check["passed"] else "FAILED"
        for skipped in attributes.get("skipped") or []:
            yield f"check {skipped if isinstance(skipped, str) else skipped.get('check')}", "not made"
    else:
        yield from _plain("", attributes)
        for name, (dtype, shape) in sorted(record.arrays.items()):
            yield f"array {name}", f"{dtype} {' x '.join(f'{length:,}' for length in shape)}"
        yield "contents", record.id[:12]


def _measured(attributes: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    for name in ("algorithm", "strategy", "backend", "hardware"):
        yield name, attributes.get(name)
    searches = attributes["searches"]
    yield "searches", len(searches)
    times = [search["milliseconds"] for search in searches if "milliseconds" in search]
    yield "median ms", median(times) if times else None
    for unit, name in (("edges", "median GTEPS (distinct edges)"), ("arcs", "median G stored arcs/s")):
        counted = (search for search in searches if search.get(unit) and search.get("milliseconds"))
        rates = [search[unit] / search["milliseconds"] / 1e6 for search in counted]
        yield name, median(rates) if rates else None
    yield "prepare ms", attributes.get("prepare_milliseconds")


def _plain(prefix: str, values: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _plain(f"{prefix}{name}.", value)
        elif isinstance(value, bool | int | float | str):
            yield f"{prefix}{name}", value


def _differences(
    old: Mapping[str, Json] | None, new: Mapping[str, Json] | None
) -> list[dict[str, Json]] | None:
    """List what differs between two; None where either is not known."""
    if old is None or new is None:
        return None
    values = [(name, old.get(name), new.get(name)) for name in dict.fromkeys([*old, *new])]
    return [{"name": name, "old": one, "new": other} for name, one, other in values if one != other]
