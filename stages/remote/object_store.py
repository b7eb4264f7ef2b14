"""Objects of S3, Google Cloud Storage and Azure, through obstore.

Endpoints and credentials are those that other tools of each store take from the environment. For S3 they are
`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL` and so on, else a profile, SSO or role that boto3 finds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from gravel.stages.addresses import Address
from gravel.stages.errors import StageError
from gravel.stages.remote.facts import BLOCK, Answer, Changed, Facts, FetchError
from gravel.stages.urls import hidden_in_text, shown

if TYPE_CHECKING:
    from obstore.store import ObjectStore

__all__ = ["Store", "endpoint_of", "facts_of_object", "list_objects", "open_object"]

T = TypeVar("T")

CONNECT_SECONDS = 5
"""Until a store that does not answer counts as unreachable; a handshake across the world takes under one."""

SILENT_SECONDS = 20
"""In which a store may send nothing of an answer."""

WHOLE_SECONDS = 7 * 86_400
"""For a file of any size on a slow line."""

RETRIES = 5
"""With waits of 0.1 s and double each time: a cut of three seconds goes by unseen."""

CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY or AWS_PROFILE, the region, and what they may do there",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, and what they may do there",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, and what they may do there",
}
ENDPOINTS = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    "gs": ("GOOGLE_BASE_URL",),
    "az": ("AZURE_ENDPOINT", "AZURE_STORAGE_ENDPOINT"),
}
"""Variables that name another server than the provider's own; the first that is set counts."""

NO_BUCKET = ("NoSuchBucket", "ContainerNotFound")

NO_CREDENTIALS = "//169.254.169.254/"
"""Where Google's and Azure's machines are asked for credentials, for want of any."""


def split_url(url: str) -> tuple[str, str, str]:
    """Cut the URL of an object or folder into scheme, bucket and key."""
    scheme, _, rest = url.partition("://")
    bucket, _, key = rest.partition("/")
    return scheme.lower(), bucket, key


def endpoint_of(scheme: str) -> str:
    """Return the address that the environment names instead of the provider's own, or nothing."""
    return next((found for name in ENDPOINTS[scheme] if (found := os.environ.get(name))), "")


class Store:
    """The bucket of a URL, or what lies below a prefix of it; `objects` is what obstore's functions take.

    `where` names it in messages, and `hide` takes secrets out of them. A request may take `seconds`. Nothing
    is reached for yet. Raises StageError without obstore, or without credentials for S3.
    """

    def __init__(
        self,
        url: str,
        where: str = "its store",
        *,
        prefix: str = "",
        seconds: int = WHOLE_SECONDS,
        hide: Callable[[str], str] = hidden_in_text,
    ) -> None:
        try:
            from obstore.exceptions import BaseError
            from obstore.store import AzureStore, GCSStore, S3Store
        except ImportError as error:
            raise StageError(
                f"{shown(url)} needs the package obstore, which is not installed",
                hint="pip install 'gravel[remote]', or -e '.[remote]' in a checkout",
            ) from error
        self._scheme, self._bucket, _ = split_url(url)
        self._hide = hide
        endpoint = endpoint_of(self._scheme)
        self._at = f" at {shown(endpoint)}" if endpoint else ""
        self._where = f"{where}{self._at}"
        kinds: dict[str, Any] = {"s3": S3Store, "gs": GCSStore, "az": AzureStore}
        settings = _s3_settings(url) if self._scheme == "s3" else {}
        if endpoint:
            settings["base_url" if self._scheme == "gs" else "endpoint"] = endpoint
        try:
            self.objects: ObjectStore = kinds[self._scheme](
                self._bucket,
                prefix=prefix or None,
                client_options={
                    "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
                    "read_timeout": timedelta(seconds=SILENT_SECONDS),
                    "timeout": timedelta(seconds=seconds),
                    "allow_http": endpoint.startswith("http://"),
                },
                retry_config={
                    "max_retries": RETRIES,
                    "retry_timeout": timedelta(seconds=60),
                    "backoff": {"max_backoff": timedelta(seconds=5)},
                },
                **settings,
            )
        except (BaseError, ValueError) as error:
            reason = re.sub(r"^Generic \w+ error: ", "", _first_line(error))
            raise StageError(
                f"{shown(url)} cannot be asked for: {hide(reason)}",
                hint=f"look at {CREDENTIALS[self._scheme]}",
            ) from None

    def ask(self, action: Callable[[], T]) -> T:
        """Call a function with the objects; raises FetchError, of status 404 for one that is not there."""
        from obstore.exceptions import BaseError

        try:
            return action()
        except (BaseError, OSError) as error:
            raise self.failed(error) from error

    def failed(self, error: Exception) -> FetchError:
        """Say what is wrong, in the words of somebody who has to mend it."""
        from obstore.exceptions import PreconditionError

        text = str(error)
        found = re.search(r"<Code>(\w+)</Code>", text)
        code = found[1] if found else ""
        found = re.search(r"Server returned non-2xx status code: (\d+)", text)
        status = int(found[1]) if found else None
        where = self._where
        if code in NO_BUCKET:
            return FetchError(
                f"there is no bucket {self._bucket!r}{self._at}",
                hint=f"make it first, or fix the URL or {ENDPOINTS[self._scheme][-1]}",
            )
        if isinstance(error, FileNotFoundError):
            return FetchError("there is nothing at this URL", status=404, hint="check its spelling")
        if isinstance(error, PreconditionError):
            return Changed()
        hint = f"look at {CREDENTIALS[self._scheme]}"
        if "token request" in text and NO_CREDENTIALS in text:
            return FetchError(f"{where}: no credentials are known", hint=hint, status=401)
        if code or status in (401, 403):
            refused = status in (401, 403)
            reason = code or f"HTTP {status}"
            return FetchError(f"{where} refuses: {reason}", hint=hint if refused else None, status=status)
        if status is not None:
            return FetchError(f"{where} answers HTTP {status}", status=status, passing=status >= 500)
        first = _first_line(error)
        if "credential provider: " in first:
            reason = first.rpartition("credential provider: ")[2]
            return FetchError(f"{where}: no valid credentials: {self._hide(reason)}", hint=hint, status=401)
        reason = first.rpartition(" - ")[2].strip() or type(error).__name__
        return FetchError(
            f"{where} cannot be reached: {self._hide(reason)}",
            hint=f"look at the network and {ENDPOINTS[self._scheme][-1]}",
            offline=True,
            passing=True,
        )


def facts_of_object(address: Address) -> Facts:
    """Ask what a store states of an object."""
    return _head(Store(address.url, hide=address.without_secrets), split_url(address.url)[2])


def _head(store: Store, key: str) -> Facts:
    import obstore

    meta = store.ask(lambda: obstore.head(store.objects, key))
    return Facts(meta["size"], meta["e_tag"], meta["last_modified"].isoformat())


def open_object(address: Address, start: int = 0, known: Facts | None = None) -> Answer:
    """Ask for an object, from `start` on if that much is here of the version that the store still has.

    The answer begins at 0 if the store has another version than `known`.
    """
    import obstore

    store, key = Store(address.url, hide=address.without_secrets), split_url(address.url)[2]
    facts = _head(store, key)
    if known is None or not facts.same_as(known):
        start = 0
    if start and start == facts.size:
        return Answer(facts, start, iter(()))
    # Another version may take its place between the two questions.
    options: Any = {"if_match": facts.etag} if facts.etag else {}
    if start:
        options["range"] = {"offset": start}
    found = store.ask(lambda: obstore.get(store.objects, key, options=options))
    stream = iter(found.stream(min_chunk_size=BLOCK))
    return Answer(facts, start, iter(lambda: store.ask(lambda: bytes(next(stream, b""))), b""))


def list_objects(address: Address, folder: str) -> list[str]:
    """Return the keys below a folder of a URL's bucket."""
    import obstore

    store = Store(address.url, hide=address.without_secrets)
    found = store.ask(lambda: obstore.list(store.objects, prefix=folder or None).collect())
    return [each["path"] for each in found]


def _s3_settings(url: str) -> dict[str, Any]:
    """Choose credentials and region; raises StageError where there are no credentials."""
    settings: dict[str, Any] = {"checksum_algorithm": "SHA256"}
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    unsigned = os.environ.get("AWS_SKIP_SIGNATURE", "").lower() in ("1", "true")
    if not unsigned and not (os.environ.get("AWS_ACCESS_KEY_ID") and os.environ.get("AWS_SECRET_ACCESS_KEY")):
        settings["credential_provider"], of_profile = _credentials(url)
        region = region or of_profile
    settings["region"] = region or "us-east-1"
    return settings


def _credentials(url: str) -> tuple[Any, str | None]:
    """Return what finds the credentials of a profile, SSO or role, and the region of the profile."""
    set_them = (
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true for a public bucket"
    )
    try:
        import boto3
        from botocore.exceptions import BotoCoreError
        from obstore.auth.boto3 import Boto3CredentialProvider
    except ImportError:
        raise StageError(
            f"no credentials are known for {shown(url)}",
            hint=f"{set_them}; for profiles (AWS_PROFILE), SSO and roles install boto3: pip install boto3",
        ) from None
    try:
        session = boto3.Session()
        known = session.get_credentials() is not None
    except BotoCoreError as error:
        raise StageError(f"{shown(url)}: {error}", hint="look at AWS_PROFILE and ~/.aws") from error
    if not known:
        raise StageError(f"no credentials are known for {shown(url)}", hint=f"{set_them}, or AWS_PROFILE")
    return Boto3CredentialProvider(session), session.region_name


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
