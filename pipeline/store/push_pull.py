"""`gravel cache push` and `pull`: whole recipes and runs, to and from a folder or an object store."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from gravel.pipeline.core.errors import DamagedArtifact, RequestError
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.folder import CacheFolder
from gravel.pipeline.store.frames import ByteCounter
from gravel.pipeline.store.location import locate_cache
from gravel.pipeline.store.objects import Bucket, FaultySource, Folder, Source, get_if_sound, is_url
from gravel.pipeline.store.records import BrokenRecord, RecipeRecord, seal, unseal
from gravel.pipeline.store.selection import Chosen, Moved, Selection, choose, read_recipe
from gravel.pipeline.store.sharing import is_shared, write_as_in
from gravel.pipeline.store.signatures import FIELD, OTHERS, RECIPES, UNTRUSTED, signer_of
from gravel.pipeline.store.transfer import (
    Signer,
    download_artifact,
    download_run,
    upload_artifact,
    upload_run,
)

AT_ONCE = 8
"""Recipes, and as many artifacts, under way at once; their data share `frames.MOVE_THREADS`."""


def push(cache: Cache, remote: str, selection: Selection, progress: ByteCounter | None = None) -> Moved:
    """Copy what is missing from a cache to another one: a folder, or an `s3://` URL.

    Raises `RemoteError` for a store that fails; what was copied until then stays and is whole.
    """
    other = None if is_url(remote) else _other(cache, remote)
    target = None if other is not None else Bucket(remote)
    chosen = choose(Folder(cache.root), selection)
    own = target is not None and cache.remote is not None and cache.remote.url == target.where
    if not own:
        _fetch(cache, chosen)
    signer = Signer(cache)
    if chosen.recipes:
        signer.prepare()
    if other is not None:
        if is_shared(other.root):
            write_as_in(other.root)
        moved = _into(other, Folder(cache.root), chosen, progress, signer)
        return replace(moved, where=str(other.root))
    assert target is not None
    moved = Moved(target.where, damaged=chosen.damaged)
    there = {name.removesuffix(".json") for name in target.names("artifacts")}
    recipes = {name.removesuffix(".json") for name in target.names("recipes")}

    def send(artifact_id: str) -> int | None:
        if artifact_id in there or (own and not cache.is_here(artifact_id)):
            return None
        return upload_artifact(cache, artifact_id, target, progress)

    def remember(recipe: RecipeRecord) -> bool:
        name = f"{RECIPES}/{recipe.digest}.json"
        found = cache.files.read(name)
        # What is there unsigned, or signed by a stranger, would be of no use to this user either.
        there = get_if_sound(target, name) if recipe.digest in recipes else None
        wanted = found is not None and not signer.counts(there, recipe.digest)
        if found is not None and wanted:
            target.put(name, signer.signed(found[0], there))
        if own:
            cache.files.remove(f"pending/{recipe.digest}")
        return wanted

    _go(chosen, moved, send, remember)
    there_runs = set(target.names("runs"))

    def send_run(run: str) -> bool:
        if run in there_runs and get_if_sound(target, f"runs/{run}/run.json") is not None:
            return False
        upload_run(cache, run, target)
        return True

    _go_through(chosen.runs, moved, send_run)
    return moved


def pull(cache: Cache, remote: str, selection: Selection, progress: ByteCounter | None = None) -> Moved:
    """Copy what is missing here from another cache, digesting every file as it arrives.

    Raises `RemoteError` for a store that fails; what arrived until then stays and is whole.
    """
    source: Source = Bucket(remote) if is_url(remote) else Folder(_other(cache, remote).root)
    if isinstance(source, Folder) and not source.root.is_dir():
        raise RequestError(f"there is no cache {source.root}", hint="name the folder of a cache, or a URL")
    cache.acceptance.prepare()

    def pick(body: dict[str, Any]) -> dict[str, Any]:
        return body if OTHERS not in body else cache.acceptance.trusted(body) or body

    return _into(cache, source, choose(source, selection, pick), progress, None)


def _into(
    cache: Cache,
    source: Source,
    chosen: Chosen,
    progress: ByteCounter | None,
    signer: Signer | None,
) -> Moved:
    """Copy what was chosen into a cache: with a `signer` this user's own, else what others offer."""
    moved = Moved(source.where, damaged=chosen.damaged)
    incoming = Incoming(cache, moved)

    def take(artifact_id: str) -> int | None:
        if cache.is_here(artifact_id) and cache.check(artifact_id) is None:
            return None
        if cache.is_here(artifact_id):
            cache.quarantine(artifact_id, cache.check(artifact_id) or "it was damaged")
        text = source.get(f"artifacts/{artifact_id}.json")
        if text is None:
            raise FaultySource(f"{source.where} does not hold artifact {artifact_id[:12]}")
        return download_artifact(cache, artifact_id, text, source, progress).bytes_on_disk

    def remember(recipe: RecipeRecord) -> bool:
        text = source.get(f"{RECIPES}/{recipe.digest}.json")
        if text is None:
            return False
        if signer is not None:
            return incoming.take_own(recipe, text, signer)
        return incoming.take(recipe, text)

    _go(chosen, moved, take, remember)
    _go_through(chosen.runs, moved, lambda run: download_run(cache, run, source))
    return moved


class Incoming:
    """Takes recipes into a cache; counts, of those that came, the ones that no trusted key signed."""

    def __init__(self, cache: CacheFolder, moved: Moved) -> None:
        self._cache = cache
        self._moved = moved
        self._counting = threading.Lock()

    def take_own(self, recipe: RecipeRecord, text: bytes, signer: Signer) -> bool:
        """Sign and keep a record that this user puts here; says whether it lacked a trusted signature."""
        files, name = self._cache.files, f"{RECIPES}/{recipe.digest}.json"
        here = files.read(name)
        if here is None and files.create(name, signer.signed(text, None)):
            files.remove(f"{UNTRUSTED}/{recipe.digest}.json")
            return True
        if here is not None and self._is_as_good(here[0], recipe):
            return False
        with self._cache.lock(f"recipe-{recipe.digest}"):  # two who push at once keep both signatures
            here = files.read(name)
            signed = signer.signed(text, None if here is None else here[0])
            self._cache.adopt(recipe.digest, signed, trusted=True)
            return True

    def _is_as_good(self, text: bytes, recipe: RecipeRecord) -> bool:
        try:
            there, body = read_recipe(text, recipe.digest), unseal(text)
            if not all(self._cache.is_here(output) for output in there.outputs):
                return False
            if FIELD not in body:
                # Made there: its own answer stays, and one that is the same gets a signature.
                return there.outputs != recipe.outputs
            return self._cache.acceptance.trusted(body) is not None
        except BrokenRecord:
            return False

    def take(self, recipe: RecipeRecord, text: bytes) -> bool:
        """Keep a record that somebody offers; says whether it was missing.

        Without the signature of a trusted key it is kept apart and does not count until its key is trusted.
        """
        digest = recipe.digest
        here = self._cache.look_up_here(digest)
        if here is not None and all(self._cache.is_here(output) for output in here.outputs):
            return False
        try:
            body = unseal(text)
            trusted = self._cache.acceptance.trusted(body)
        except BrokenRecord as error:
            self._moved.damaged[digest] = f"the record of the recipe is damaged ({error})"
            return False
        if trusted is None:
            self._count(body)
            kept = self._cache.files.read(f"{UNTRUSTED}/{digest}.json")
            if kept is not None and kept[0] == text:
                return False
        text = text if trusted is None else seal(trusted)
        self._cache.adopt(digest, text, trusted=trusted is not None)
        return True

    def _count(self, body: dict[str, object]) -> None:
        key = signer_of(body)
        with self._counting:
            if key is None:
                self._moved.unsigned += 1
            else:
                self._moved.untrusted[key.text] = self._moved.untrusted.get(key.text, 0) + 1


def _go_through(runs: list[str], moved: Moved, copy: Callable[[str], bool]) -> None:
    """Copy runs, and note those that are damaged."""
    for run in runs:
        try:
            moved.runs += copy(run)
        except (FaultySource, BrokenRecord) as error:
            moved.damaged[run] = str(error)


def _go(
    chosen: Chosen,
    moved: Moved,
    copy: Callable[[str], int | None],
    remember: Callable[[RecipeRecord], bool],
) -> None:
    """Copy outputs, then the recipes that lead to them; what is damaged is noted and the rest goes on.

    `copy` returns the bytes, or None for what was there. Some recipes go at once, since most of the time of
    small ones is spent on waiting for answers.
    """

    def one(artifact_id: str) -> int | None:
        try:
            return copy(artifact_id)
        except (FaultySource, DamagedArtifact) as error:
            moved.damaged[artifact_id] = str(error)
            return None

    def kept(recipe: RecipeRecord) -> bool:
        try:
            return remember(recipe)
        except FaultySource as error:
            moved.damaged[recipe.digest] = str(error)
            return False

    def several(ids: list[str]) -> None:
        for artifact_id, size in zip(ids, pool.map(one, ids), strict=True):
            if size is not None:
                moved.artifacts += 1
                moved.bytes += size
            elif artifact_id not in moved.damaged:
                moved.present += 1

    seen: set[str] = set()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            for start in range(0, len(chosen.recipes), AT_ONCE):
                batch = chosen.recipes[start : start + AT_ONCE]
                fresh = dict.fromkeys(output for recipe in batch for output in recipe.outputs)
                several([output for output in fresh if output not in seen])
                seen.update(fresh)
                whole = [recipe for recipe in batch if not moved.damaged.keys() & set(recipe.outputs)]
                moved.recipes += sum(pool.map(kept, whole))
            several(chosen.artifacts)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _fetch(cache: Cache, chosen: Chosen) -> None:
    """Have what lies only in the store behind this cache here, before it is passed on."""
    if cache.remote is None:
        return
    for recipe in chosen.recipes:
        for output in recipe.outputs:
            try:
                cache.remote.fetch(output)
            except DamagedArtifact as error:
                chosen.damaged[output] = str(error)


def _other(cache: Cache, path: str) -> Cache:
    root = locate_cache(path)
    if root.resolve() == cache.root.resolve():
        raise RequestError(f"{root} is this very cache", hint="name another, or choose this one with --cache")
    return Cache(root, cache.say)
