"""Which recipes of others count: those that a trusted key signed, or any for one run with `--trust-remote`.

A recipe that was made in this cache has no signature and counts. One that came from elsewhere lies in
`recipes/` with the signature that was checked when it came, or in `untrusted/` until somebody trusts its key.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gravel.pipeline.trust.keys import PublicKey

RECIPES, UNTRUSTED = "recipes", "untrusted"
RECIPE_FOLDERS = (RECIPES, UNTRUSTED)


class Acceptance:
    """Decides on recipes that came from elsewhere, and remembers what it decided.

    `refused` and `accepted` map digests of recipes to the key that signed them, None for unsigned ones;
    `accepted` has only those that count because of `trust_remote`.
    """

    def __init__(self, *, trust_remote: bool = False) -> None:
        self.trust_remote = trust_remote
        self.refused: dict[str, PublicKey | None] = {}
        self.accepted: dict[str, PublicKey | None] = {}

    @cached_property
    def _trusted(self) -> dict[bytes, PublicKey]:
        from gravel.pipeline.trust.keys import all_trusted

        return all_trusted()

    def prepare(self) -> None:
        """Read the user's keys; raises `RequestError` for files that cannot be relied on."""
        self._trusted  # noqa: B018 (kept for later)

    def trusted(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """Return the record from elsewhere that a trusted key signed: this one or one that is kept in it.

        Raises `BrokenRecord` for a signature that does not fit, `RequestError` for keys that cannot be read.
        """
        from gravel.pipeline.store.signatures import check_signature

        return self._first(body, check_signature)

    def _first(
        self, body: dict[str, Any], signer: Callable[[dict[str, Any]], PublicKey | None]
    ) -> dict[str, Any] | None:
        from gravel.pipeline.store.signatures import signed_bodies

        for each in signed_bodies(body):
            key = signer(each)
            if key is not None and key.raw in self._trusted:
                return each
        return None

    def still_counts(self, digest: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """Return the record in `recipes/` that counts, whose signature was checked when it came."""
        if "signature" not in body:
            return body  # it was made here
        from gravel.pipeline.store.signatures import signer_of

        found = self._first(body, signer_of)
        return body if found is None and self.counts_anyway(digest, body) else found

    def counts_anyway(self, digest: str, body: dict[str, Any]) -> bool:
        """Say whether a record that nobody trusted signed counts, and remember that."""
        from gravel.pipeline.store.signatures import signer_of

        kept = self.accepted if self.trust_remote else self.refused
        kept[digest] = signer_of(body)
        return self.trust_remote

    def why_refused(self, digest: str) -> list[str] | None:
        """Return why a recipe that is there does not count, or None if it was not refused."""
        if digest not in self.refused:
            return None
        return [f"its recipe came from elsewhere {signed(self.refused[digest])}"]

    def messages(self) -> list[str]:
        """Tell, a line for each key, how many recipes did not count or did only because of the option."""
        lines = []
        for key, count in _counted(self.refused).items():
            lines.append(f"{_recipes(count)} {signed(key)}: computed again; {advice(key)}")
        for key, count in _counted(self.accepted).items():
            lines.append(f"--trust-remote: {_recipes(count)} {signed(key)}, taken as they are")
        return lines

    def to_json(self) -> dict[str, Any]:
        """Return what a run's record says of it."""
        recipes = {
            name: {digest: key and key.fingerprint for digest, key in found.items()}
            for name, found in (("accepted", self.accepted), ("refused", self.refused))
        }
        return {"trust_remote": self.trust_remote, **recipes}


def signed(key: PublicKey | None) -> str:
    """Say by whom a recipe is signed that no trusted key signed."""
    return "unsigned" if key is None else f"signed by the key {key.fingerprint}, which is not trusted"


def advice(key: PublicKey | None) -> str:
    """Say what makes such recipes count."""
    if key is None:
        return (
            "a `gravel cache push` from the cache that made them signs them; --trust-remote takes them once"
        )
    return f"if you know whose key it is: gravel trust add '{key.text}'"


def _counted(found: dict[str, PublicKey | None]) -> dict[PublicKey | None, int]:
    counts: dict[PublicKey | None, int] = {}
    for key in found.values():
        counts[key] = counts.get(key, 0) + 1
    return counts


def _recipes(count: int) -> str:
    return "1 recipe from elsewhere," if count == 1 else f"{count} recipes from elsewhere,"
