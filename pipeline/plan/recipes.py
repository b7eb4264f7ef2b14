"""A stage run's recipe, as soon as the ids of its inputs are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pipeline.plan.model import Plan, StageRun
from stages.stage import Parameters, Stage

if TYPE_CHECKING:
    from pipeline.file_digest import FileDigests
    from pipeline.recipe import Recipe
    from pipeline.store import Cache


def pseudo_ids(run: StageRun, recipe_digest: str) -> tuple[str, ...]:
    """Name the outputs of a run that is not kept: they are known by its recipe only."""
    return tuple(f"recipe:{recipe_digest}:{position}" for position in range(len(run.stage.outputs)))


class RecipeMaker:
    """Makes recipes for the planner and the executor alike.

    `upstream` of each method leads from run keys to output ids and must hold everything that the run rests
    on (`Plan.lineage`), since given sources are resolved through the `VertexIds` far upstream. `open_ids`
    opens an artifact by its id; the executor passes its own where results are not kept.
    """

    def __init__(
        self,
        plan: Plan,
        cache: Cache,
        digests: FileDigests,
        hardware: Callable[[Stage], str | None],
        *,
        open_ids: Callable[[str], Any] | None = None,
    ) -> None:
        raise RuntimeError("being written")

    def resolve(self, run: StageRun, upstream: Mapping[str, tuple[str, ...]]) -> Parameters:
        """Return the parameters with given source ids replaced by internal indices.

        Raises StageError for an id that is not in the graph.
        """
        raise RuntimeError("being written")

    def recipe(self, run: StageRun, upstream: Mapping[str, tuple[str, ...]]) -> Recipe:
        """Return the run's recipe; raises RequestError for a file that cannot be read."""
        raise RuntimeError("being written")
