"""What may happen to a workflow, its input and its cache between two commands."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from gravel.pipeline.core.hashing import Recipe
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.records import seal, unseal
from tests.pipeline.plan_cache_bench import PlanCacheBench, stand_in

Edit = Callable[[PlanCacheBench], None]


def rewrite(name: str, old: str, new: str) -> Edit:
    def edit(bench: PlanCacheBench) -> None:
        path = bench.folder / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    return edit


def touch(bench: PlanCacheBench) -> None:
    bench.age(bench.folder / "edges.txt", 5)


def other_edges(bench: PlanCacheBench) -> None:
    bench.write_edges("1 2\n2 14\n")


def edges_elsewhere(bench: PlanCacheBench) -> None:
    """The same path leads to another file of the same size and age."""
    other = bench.folder / "other.txt"
    (bench.folder / "edges.txt").rename(other)
    (bench.folder / "edges.txt").symlink_to(other)


def gone(pattern: str) -> Edit:
    def edit(bench: PlanCacheBench) -> None:
        path = sorted(bench.root.glob(pattern))[0]
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return edit


def damaged(pattern: str) -> Edit:
    def edit(bench: PlanCacheBench) -> None:
        path = sorted(bench.root.glob(pattern))[0]
        text = path.read_bytes()
        path.write_bytes(text[:20] + bytes([text[20] ^ 1]) + text[21:])

    return edit


def shorter(bench: PlanCacheBench) -> None:
    path = sorted(bench.root.glob("data/*/zarr.json"))[0]
    path.write_bytes(path.read_bytes()[:-1])


def other_answer(bench: PlanCacheBench) -> None:
    """Another run computed a measurement again, and its times are others."""
    cache = Cache(bench.root)
    name = sorted(bench.root.glob("recipes/*.json"))[0].stem
    record = cache.look_up(name)
    assert record is not None
    with cache.writer() as writer:
        ids = [
            writer.publish(stand_in("Report", f"again {place}")).id for place in range(len(record.outputs))
        ]
    cache.remember(Recipe(name, record.parts), ids, record.provenance)


def newer(bench: PlanCacheBench) -> None:
    """A record that a newer gravel wrote is an error, and no reason to compute."""
    path = sorted(bench.root.glob("recipes/*.json"))[0]
    body = unseal(path.read_bytes())
    body.pop("seal", None)
    path.write_bytes(seal({**body, "format": 99}))


EDITS: dict[str, Edit] = {
    "a parameter": rewrite("outer.yaml", "count: 2", "count: 3"),
    "a comment": rewrite("outer.yaml", "workflow: outer", "# hello\nworkflow: outer"),
    "a nested workflow": rewrite("inner.yaml", "scale: 6", "scale: 5"),
    "a fault": rewrite("outer.yaml", "stages:", "stagse:"),
    "a fault of a nested workflow": rewrite("inner.yaml", "symmetrize", "symmetrise"),
    "no workflow": lambda bench: bench.file.unlink(),
    "no nested workflow": lambda bench: (bench.folder / "inner.yaml").unlink(),
    "a touched input": touch,
    "another input": other_edges,
    "an input behind a link": edges_elsewhere,
    "no input": lambda bench: (bench.folder / "edges.txt").unlink(),
    "a folder in place of the input": lambda bench: (
        (bench.folder / "edges.txt").unlink(),
        (bench.folder / "edges.txt").mkdir(),
    )[0],
    "no memo of a digest": gone("digests/*.json"),
    "no memo of resolved sources": gone("resolved/*.json"),
    "no recipe": gone("recipes/*.json"),
    "a damaged recipe": damaged("recipes/*.json"),
    "a recipe of a newer gravel": newer,
    "another answer to a recipe": other_answer,
    "no record of an artifact": gone("artifacts/*.json"),
    "a damaged record of an artifact": damaged("artifacts/*.json"),
    "no data": gone("data/*"),
    "a shorter file": shorter,
    "no cache": lambda bench: shutil.rmtree(bench.root),
}
