"""The cache: one folder, all that is done with it, and the store elsewhere that may be behind it.

With `remote.json` the folder is the local tier of such a store (`gravel.pipeline.store.remote`). What lies in
the folder is described in `gravel.pipeline.store.folder`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.pipeline.store.checkpoints import FOLDER as UNFINISHED
from gravel.pipeline.store.descriptors import NoFolder, enter
from gravel.pipeline.store.failures import ReadOnly
from gravel.pipeline.store.files import Draft
from gravel.pipeline.store.folder import (
    ARTIFACTS,
    DATA,
    DIGESTS,
    EXPORTED,
    LEASES,
    RESOLVED,
    CacheFolder,
)
from gravel.pipeline.store.leases import Lease, holder, remove_dead_locks, take_lease
from gravel.pipeline.store.location import linked_url
from gravel.pipeline.store.records import ArtifactRecord, RecipeRecord, seal
from gravel.pipeline.store.selection import artifacts, entries
from gravel.pipeline.store.sharing import is_shared
from gravel.pipeline.store.signatures import RECIPE_FOLDERS, RECIPES, UNTRUSTED

if TYPE_CHECKING:
    from gravel.pipeline.core.hashing import Recipe
    from gravel.pipeline.store.pushes import Pushes
    from gravel.pipeline.store.reader import Verified
    from gravel.pipeline.store.remote import Remote
    from gravel.pipeline.store.selection import Entry
    from gravel.pipeline.store.sink import WriteThreads
    from gravel.pipeline.store.writer import ArtifactWriter
    from gravel.stages.artifact import Artifact


FOLDERS = ("recipes", "artifacts", "data", "locks", "leases", "runs", "scratch", "quarantine", "digests")
"""The folders that every run uses; others are made when something is written into them."""

TEMPORARY = (*RECIPE_FOLDERS, ARTIFACTS, DATA, LEASES, DIGESTS, RESOLVED, EXPORTED, UNFINISHED)
"""Folders in which files are written beside their name."""


class Cache(CacheFolder):
    """One cache. Cheap to make, safe to use from many threads and processes at once; see `CacheFolder`."""

    @cached_property
    def unpublished(self) -> dict[str, ArtifactRecord]:
        """Artifacts that this process has prepared and is about to publish: `open` finds them, too."""
        return {}

    def __reduce__(self) -> tuple[type[Cache], tuple[Path]]:
        return (Cache, (self.root,))

    @cached_property
    def remote(self) -> Remote | None:
        """The store that this folder is the local tier of, or None."""
        url = linked_url(self.files)
        # A member of a group could have the others' results sent somewhere else.
        if url is None or is_shared(self.root):
            return None
        from gravel.pipeline.store.remote import Remote

        return Remote(self, url)

    @cached_property
    def pushes(self) -> Pushes | None:
        """What is on its way to that store."""
        from gravel.pipeline.store.pushes import Pushes

        return None if self.remote is None else Pushes(self, self.remote)

    def look_up(self, recipe_digest: str) -> RecipeRecord | None:
        """Return what a recipe led to, here or in the store behind, or None."""
        here = self.look_up_here(recipe_digest)
        return here if self.remote is None else self.remote.complete(recipe_digest, here)

    def find(self, artifact_id: str) -> ArtifactRecord | None:
        """Return the record of an artifact, here or in the store behind, or None."""
        found = super().find(artifact_id)
        return self.remote.record(artifact_id) if found is None and self.remote is not None else found

    def check(self, artifact_id: str) -> str | None:
        """Say why an artifact cannot be relied on, or None if it is whole; see `CacheFolder.check`."""
        if self.remote is not None and not self.is_here(artifact_id) and self.find(artifact_id) is not None:
            return None  # it is copied here, and checked, when it is opened
        return super().check(artifact_id)

    def remember(self, recipe: Recipe, outputs: Sequence[str], provenance: Mapping[str, Any]) -> RecipeRecord:
        """Record what a recipe led to; call it after the outputs are published. The newest answer wins."""
        record = RecipeRecord(recipe.digest, tuple(outputs), dict(provenance), recipe.parts, time.time())
        self.remember_draft(recipe.digest, self.draft_recipe(record, durable=True))
        self.files.sync_name(f"{RECIPES}/{recipe.digest}.json")
        return record

    def draft_recipe(self, record: RecipeRecord, *, durable: bool = False) -> Draft:
        """Write a recipe's record beside its name."""
        return self.files.draft(f"{RECIPES}/{record.digest}.json", seal(record.to_json()), durable=durable)

    def remember_draft(self, digest: str, draft: Draft) -> None:
        """Let a recipe's record count that is on the disk, as are the outputs that it leads to."""
        if self.pushes is not None:
            self.pushes.mark(digest)
        draft.replace()
        self.files.remove(f"{UNTRUSTED}/{digest}.json")
        if self.pushes is not None:
            self.pushes.enqueue(digest)

    def finish_pushes(self, run: str | None = None, *, wait: bool = True) -> None:
        """At the end of a run, have everything in the store behind, or say what is not; `wait` for it."""
        if self.pushes is None:
            return
        if wait:
            self.pushes.finish(run)
        else:
            self.pushes.report("the run was interrupted")

    def lease(self, run_id: str) -> Lease:
        """Take a run's lease: while it is held, gc spares all that was made or checked since."""
        return take_lease(self.root, run_id)

    def open(self, artifact_id: str) -> Artifact:
        """Return an artifact whose arrays are read, and checked, when they are sliced.

        Raises `DamagedArtifact` if its record or attributes are missing or damaged; so does reading an array
        whose file is missing or not what was written.
        """
        from gravel.pipeline.store.reader import open_artifact

        if artifact_id in self.unpublished:
            return open_artifact(self.unpublished[artifact_id])
        if self.remote is not None:
            self.remote.fetch(artifact_id)
        return open_artifact(self.describe(artifact_id))

    def writer(
        self,
        run: str | None = None,
        *,
        durable: bool = True,
        passing: bool = False,
        before_each: Callable[[], None] = lambda: None,
        threads: WriteThreads | None = None,
    ) -> AbstractContextManager[ArtifactWriter]:
        """Start writing artifacts: `.sink(dtype, row_shape)` for arrays, `.publish(artifact)` for each.

        The arguments are for what the run publishes that is prepared here; see `ArtifactWriter`.
        """
        from gravel.pipeline.store.writer import ArtifactWriter

        return ArtifactWriter(
            self, run, durable=durable, passing=passing, before_each=before_each, threads=threads
        )

    def quarantine(self, artifact_id: str, reason: str) -> None:
        """Move a damaged artifact aside with the reason, so that it is computed again."""
        if self.remote is not None and not self.is_here(artifact_id):
            self.remote.invalidate(artifact_id)
        super().quarantine(artifact_id, reason)

    def sweep(self) -> int:
        """Remove what dead writers left; returns the bytes freed. Cheap when nothing was left.

        What lies where one of the cache's folders should be and is none is moved aside; a link that is not to
        be followed is refused. Nothing is done in a cache that cannot be written.
        """
        try:
            for folder in FOLDERS:
                try:
                    os.close(enter(self.root, folder))
                except NoFolder:
                    self.files.folder(folder)
                except OSError:
                    continue  # it is made when something is written to it
            return self.remove_leavings()
        except ReadOnly:
            return 0

    def remove_leavings(self, *, delete: bool = True, orphans: bool = False) -> int:
        """Remove data without a record, temporary files, and checkpoints of what is finished.

        Returns the bytes of the data; without `delete` it only counts. `orphans` includes data whose record
        was damaged or is of an older format.
        """
        if delete:
            for folder in TEMPORARY:
                for name in self.files.leavings(folder):
                    self.files.remove(name)
            remove_dead_locks(self.root)
            for recipe in self.files.names(UNFINISHED):
                if any((self.root / folder / f"{recipe}.json").exists() for folder in RECIPE_FOLDERS):
                    self.files.remove(f"{UNFINISHED}/{recipe}")
        # Folders are listed before locks and locks before records, since writers take these steps in reverse.
        folders = {name for name in self.files.names(DATA) if not name.endswith(".lock")}
        locked = {name.removesuffix(".lock") for name in self.files.names(DATA, ".lock")}
        dead = {name for name in locked if holder(self.root / DATA / f"{name}.lock") is None}
        suspects = dead | (folders - locked if orphans else set())
        if not suspects:
            return 0
        # A writer may have died after its record was made: then only the lock is a leaving.
        published = {record.path.name for record in artifacts(self)}
        freed = 0
        for name in sorted(suspects):
            if name not in published:
                freed += self.files.size(f"{DATA}/{name}")
                if delete:
                    self.files.remove(f"{DATA}/{name}")
            if delete and name in dead:
                self.files.remove(f"{DATA}/{name}.lock")
        return freed

    def pass_over(self, name: str) -> None:
        """Leave a record of an older format where it is; the first one is reported."""
        is_first = not self.older
        super().pass_over(name)
        if is_first:
            from gravel.pipeline.core.memory import format_bytes

            size = format_bytes(self.remove_leavings(delete=False, orphans=True))
            self.say(
                f"{self.root} holds results of an older format ({size}), which are not read and are computed "
                "again when they are needed; `gravel cache gc --yes` removes them"
            )

    def verify(self, progress: Callable[[int, int], None] = lambda done, total: None) -> Verified:
        """Digest every file of every artifact, recompute its id, and quarantine what is damaged.

        `progress` is called with bytes done and bytes in all.
        """
        from gravel.pipeline.store.reader import verify

        return verify(self, progress)

    def list(self) -> list[Entry]:
        """Return every artifact with the recipe that made it first, in order of creation."""
        return entries(self)
