"""The cache: what recipes led to, where artifacts lie, and whether they are whole.

Layout below the root: `recipes/<digest>.json`, `artifacts/<id>.json`, `data/<uuid>/` (one Zarr group each),
`data/<uuid>.lock` (its writer lives), `locks/`, `leases/`, `quarantine/`, `untrusted/` (recipes of others,
`gravel.pipeline.store.acceptance`), `downloads/` (`gravel.pipeline.datasets.downloads`), and memos that are
safe to delete: `digests/`, `resolved/`, `frozen/` (`gravel.pipeline.plan.cache`). A record is created
atomically and after everything that it points to, so whatever dies, a record never leads to half an artifact.
With `remote.json` the folder is the local tier of a store elsewhere (`gravel.pipeline.store.remote`).
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import DamagedArtifact, GravelError
from gravel.pipeline.store.acceptance import RECIPES, UNTRUSTED, Acceptance
from gravel.pipeline.store.failures import ReadOnly
from gravel.pipeline.store.files import LocalFiles
from gravel.pipeline.store.records import ArtifactRecord, BrokenRecord, RecipeRecord, seal, unseal
from gravel.pipeline.store.sharing import is_shared

if TYPE_CHECKING:
    from gravel.pipeline.core.hashing import Recipe
    from gravel.pipeline.store.collect import Collection
    from gravel.pipeline.store.damage import Verified
    from gravel.pipeline.store.listing import Entry
    from gravel.pipeline.store.remote import Remote
    from gravel.pipeline.store.writer import ArtifactWriter
    from gravel.stages.artifacts import Artifact


FOLDERS = ("recipes", "artifacts", "data", "locks", "leases", "runs", "scratch", "quarantine", "digests")
"""The folders that every run uses; others are made when something is written into them."""


def say_on_stderr(message: str) -> None:
    """Print a line where it does not mix with output."""
    print(message, file=sys.stderr)


class Cache:
    """One cache folder. Cheap to make, safe to use from many threads and processes at once.

    Parameters
    ----------
    root : the folder; it is created when something is first written.
    say : is told, in a sentence, of damage that was met and what follows from it.
    trust_remote : recipes of others count whoever signed them.

    """

    def __init__(
        self, root: Path, say: Callable[[str], None] = say_on_stderr, *, trust_remote: bool = False
    ) -> None:
        self.root = Path(root)
        self.say = say
        self.files = LocalFiles(self.root, lambda message: self.say(message), self._obstructed)
        self.acceptance = Acceptance(trust_remote=trust_remote)

    def __reduce__(self) -> tuple[type[Cache], tuple[Path]]:
        return (Cache, (self.root,))

    @cached_property
    def remote(self) -> Remote | None:
        """The store that this folder is the local tier of, or None."""
        found = self.files.read("remote.json")
        # A member of a group could have the others' results sent somewhere else.
        if found is None or is_shared(self.root):
            return None
        from gravel.pipeline.store.remote import Remote, tied_to

        url = tied_to(found)
        return None if url is None else Remote(self, url)

    def recall(self, recipe_digest: str) -> RecipeRecord | None:
        """Return what a recipe led to, here or in the store behind, or None."""
        here = self.recall_here(recipe_digest)
        return here if self.remote is None else self.remote.complete(recipe_digest, here)

    def recall_here(self, recipe_digest: str) -> RecipeRecord | None:
        """Return what a recipe led to, or None. A damaged record is set aside, said and forgotten.

        A recipe that came from elsewhere counts only if a trusted key signed it; see `acceptance`.
        """
        for folder, counts in ((RECIPES, self.acceptance.still_counts), (UNTRUSTED, self._counts_by_now)):
            found = self._recipe(folder, recipe_digest)
            try:
                if found is not None and counts(recipe_digest, found[1]):
                    return found[0]
            except BrokenRecord as error:
                self._set_aside(f"{folder}/{recipe_digest}.json", _broken("recipe", recipe_digest, error))
        return None

    def _counts_by_now(self, digest: str, body: dict[str, Any]) -> bool:
        """Say whether a record in `untrusted/` counts; move it to the others if its key is trusted by now."""
        if not self.acceptance.trusts(body):
            return self.acceptance.counts_anyway(digest, body)
        self.acceptance.refused.pop(digest, None)
        with suppress(GravelError, OSError):  # a cache that cannot be written
            self.adopt(digest, seal(body), trusted=True)
        return True

    def _recipe(self, folder: str, digest: str) -> tuple[RecipeRecord, dict[str, Any]] | None:
        """Read a recipe's record, and its body with the signature; a damaged one is set aside."""
        name = f"{folder}/{digest}.json"
        found = self.files.read(name)
        if found is None:
            return None
        try:
            body = unseal(found[0])
            record = RecipeRecord.from_json(body)
            if record.digest != digest:
                raise BrokenRecord("it is the record of another recipe")
        except (BrokenRecord, KeyError, TypeError, ValueError) as error:
            self._set_aside(name, _broken("recipe", digest, error))
            return None
        return record, body

    def recipe_records(self, folder: str) -> list[RecipeRecord]:
        """Return the recipes of `recipes/` or `untrusted/`, whoever signed them, the oldest first."""
        names = self.files.names(folder, ".json")
        found = [self._recipe(folder, name.removesuffix(".json")) for name in names]
        return sorted((each[0] for each in found if each is not None), key=lambda record: record.created)

    def check_recipe(self, folder: str, digest: str) -> str | None:
        """Say what is wrong with a recipe's record or its signature, after setting it aside, or None."""
        from gravel.pipeline.trust.signatures import check_signature

        found = self._recipe(folder, digest)
        if found is None:
            return "the recipe's record cannot be read"
        try:
            check_signature(found[1])
        except BrokenRecord as error:
            self._set_aside(f"{folder}/{digest}.json", _broken("recipe", digest, error))
            return str(error)
        return None

    def adopt(self, digest: str, text: bytes, *, trusted: bool) -> None:
        """Keep a recipe's record, in place of an older one; what it leads to has to be here or behind."""
        self.files.replace(f"{RECIPES if trusted else UNTRUSTED}/{digest}.json", text)
        if trusted:
            self.files.remove(f"{UNTRUSTED}/{digest}.json")

    def check(self, artifact_id: str) -> str | None:
        """Say why an artifact cannot be relied on, or None if each of its files is there in full size.

        Reads one record and the sizes of the files, none of the data; marks the artifact as used.
        """
        record = self.find(artifact_id)
        if record is None:
            return "it has no record in the cache"
        if self.remote is not None and not self.is_here(artifact_id):
            return None  # it is copied here, and checked, when it is opened
        for file in record.files:
            try:
                found = os.stat(f"{record.path}/{file.path}")  # noqa: PTH116 (hundreds of files)
            except OSError as error:
                return f"{file.path} cannot be read ({error.strerror})"
            if found.st_size != file.size:
                return f"{file.path} has {found.st_size:,} bytes and should have {file.size:,}"
            if not stat.S_ISREG(found.st_mode):
                return f"{file.path} is no file"
        self.files.touch(f"artifacts/{artifact_id}.json")
        return None

    def describe(self, artifact_id: str) -> ArtifactRecord:
        """Return the record of an artifact; raises `DamagedArtifact` if there is none."""
        record = self.find(artifact_id)
        if record is None:
            raise DamagedArtifact(artifact_id, "it has no record in the cache")
        return record

    def find(self, artifact_id: str) -> ArtifactRecord | None:
        """Return the record of an artifact, or None. A damaged one is set aside, said and forgotten."""
        name = f"artifacts/{artifact_id}.json"
        found = self.files.read(name)
        if found is None:
            return None if self.remote is None else self.remote.record(artifact_id)
        try:
            record = ArtifactRecord.from_json(unseal(found[0]), self.root / "data", found[1])
            if record.id != artifact_id:
                raise BrokenRecord("it is the record of another artifact")
        except (BrokenRecord, KeyError, TypeError, ValueError) as error:
            self._set_aside(name, _broken("artifact", artifact_id, error))
            return None
        return record

    def is_here(self, artifact_id: str) -> bool:
        """Say whether an artifact has a record in this folder; else only a store may hold it."""
        return os.path.exists(f"{self.root}/artifacts/{artifact_id}.json")  # noqa: PTH110

    def _obstructed(self, name: str, problem: str) -> None:
        self._set_aside(name, problem)

    def _set_aside(self, name: str, problem: str) -> None:
        self.say(f"{problem}; what it stands for is computed again")
        try:
            self.files.move(name, f"quarantine/{Path(name).stem}-{time.time_ns()}/{Path(name).name}")
        except ReadOnly:
            self.say(f"{self.root / name} stays where it is, since the cache cannot be written")

    def remember(self, recipe: Recipe, outputs: Sequence[str], provenance: Mapping[str, Any]) -> RecipeRecord:
        """Record what a recipe led to; call it after the outputs are published. The newest answer wins."""
        record = RecipeRecord(recipe.digest, tuple(outputs), dict(provenance), recipe.parts, time.time())
        if self.remote is not None:
            self.remote.mark(recipe.digest)
        self.adopt(recipe.digest, seal(record.to_json()), trusted=True)
        if self.remote is not None:
            self.remote.offer(recipe.digest)
        return record

    def settle(self, run: str | None = None, *, wait: bool = True) -> None:
        """At the end of a run, have everything in the store behind, or say what is not; `wait` for it."""
        if self.remote is None:
            return
        if wait:
            self.remote.settle(run)
        else:
            self.remote.tell_pending("the run was interrupted")

    @contextmanager
    def lock(self, recipe_digest: str, waiting: Callable[[], None] | None = None) -> Iterator[None]:
        """Hold a recipe, so that two runs do not compute it at the same time.

        `waiting` is called once if another holds it. The lock of a process that died is free. Where the
        place cannot lock, nothing is held: at worst the work is done twice.
        """
        from gravel.pipeline.store.leases import recipe_lock

        with recipe_lock(self.root, recipe_digest, waiting):
            yield

    @contextmanager
    def lease(self, run_id: str) -> Iterator[None]:
        """While held by a living process, gc spares all that was made or checked since it was taken."""
        from gravel.pipeline.store.leases import hold

        with hold(self.root / "leases" / f"{run_id}.lock", f"run {run_id}"):
            yield

    def open(self, artifact_id: str) -> Artifact:
        """Return an artifact whose arrays are read, and checked, when they are sliced.

        Raises `DamagedArtifact` if its record or metadata are missing or damaged; so does reading a chunk
        that is missing or fails its checksum.
        """
        from gravel.pipeline.store.reader import open_artifact

        if self.remote is not None:
            self.remote.bring(artifact_id)
        record = self.describe(artifact_id)
        if record.checksums is None:
            from gravel.pipeline.store.binding import bind

            record = bind(self, record)
        return open_artifact(record)

    def writer(self) -> AbstractContextManager[ArtifactWriter]:
        """Start writing artifacts: `.sink(dtype, row_shape)` for arrays, `.publish(artifact)` for each."""
        from gravel.pipeline.store.writer import ArtifactWriter

        return ArtifactWriter(self)

    def quarantine(self, artifact_id: str, reason: str) -> None:
        """Move a damaged artifact aside with the reason, so that it is computed again."""
        from gravel.pipeline.store.damage import quarantine

        if self.remote is not None and not self.is_here(artifact_id):
            self.remote.forget(artifact_id)
        quarantine(self, artifact_id, reason)

    def sweep(self) -> int:
        """Remove what dead writers left; returns the bytes freed. Cheap when nothing was left.

        What lies where one of the cache's folders should be and is none is moved aside. Nothing is done in a
        cache that cannot be written.
        """
        from gravel.pipeline.store.sweeping import sweep

        try:
            for folder in FOLDERS:
                if os.path.lexists(f"{self.root}/{folder}") and not os.path.isdir(f"{self.root}/{folder}"):  # noqa: PTH112
                    self.files.folder(folder)
            return sweep(self)
        except ReadOnly:
            return 0

    def verify(self, progress: Callable[[int, int], None] | None = None) -> Verified:
        """Digest every file of every artifact, recompute its id, and quarantine what is damaged.

        `progress` is called with bytes done and bytes in all.
        """
        from gravel.pipeline.store.damage import verify

        return verify(self, progress)

    def gc(self, *, delete: bool = False, **policy: Any) -> Collection:
        """Find, and with `delete` remove, what no kept run reaches; `policy` is that of `store.collect`.

        What runs used whose records cannot be read is not known: as long as there are such runs, nothing goes
        because no run reaches it.
        """
        from gravel.pipeline.store.collect import Policy, collect

        return collect(self, Policy(**policy), delete=delete)

    def list(self) -> list[Entry]:
        """Return every artifact with the recipe that made it first, in order of creation."""
        from gravel.pipeline.store.listing import entries

        return entries(self)


def _broken(what: str, identity: str, error: Exception) -> str:
    return f"the record of {what} {identity[:12]} is damaged ({error})"
