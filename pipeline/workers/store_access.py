"""Whether workers with tiers of their own can take part in a run, and what each of them lacks if not."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import GravelError, Problem, RequestError
from gravel.pipeline.core.files import make_root
from gravel.pipeline.store.failures import storage_errors
from gravel.pipeline.store.files import LocalFiles
from gravel.pipeline.store.location import find_cache
from gravel.pipeline.store.objects import Bucket
from gravel.pipeline.trust.keys import KEY_FILE, PublicKey, all_trusted, own_public_key, signing_key

if TYPE_CHECKING:
    from gravel.pipeline.store.remote import Remote

PROBES = "probes"
"""Where driver and workers put objects that tell whether they reach the same store."""


def store_facts(url: str, probe: str, files: Sequence[str]) -> dict[str, Any]:
    """Say what a worker can do with a store; runs there.

    `probe` is an object of the driver's, beside which it answers. It names the first of the `files` that it
    lacks, and its keys as lines of text.
    """
    facts: dict[str, Any] = {"problem": None, "answer": None, "file": None, "key": None, "trusted": ()}
    try:
        root = find_cache(url)
        with storage_errors(root):
            make_root(root)
            LocalFiles(root).replace(f"{PROBES}/{os.getpid()}", b"", durable=False)
            LocalFiles(root).remove(f"{PROBES}/{os.getpid()}")
    except GravelError as error:
        return {**facts, "what": "has no writable folder for a tier of", "problem": error.problems[0]}
    try:
        store = Bucket(url)
        if store.get(probe) is None:
            return {**facts, "what": "reaches another store than this machine under"}
        facts["answer"] = f"{probe}-{socket.gethostname()}-{os.getpid()}"
        store.put(facts["answer"], b"")
    except GravelError as error:
        return {**facts, "what": "cannot use", "problem": error.problems[0]}
    try:
        own = own_public_key()
        facts["trusted"] = tuple(key.raw for key in all_trusted().values())
    except GravelError as error:
        return {**facts, "what": "has no usable signing key for", "problem": error.problems[0]}
    facts["key"] = own and (own.raw, own.line)
    facts["file"] = next((file for file in files if not Path(file).exists()), None)
    return facts


def check_store(client: Any, remote: Remote, files: Sequence[str]) -> None:
    """Refuse a cluster of which a worker cannot work on the store; raises RequestError."""
    store, probe = Bucket(remote.url), f"{PROBES}/{uuid.uuid4().hex}"
    _, own = signing_key()
    store.put(probe, b"")
    try:
        for address, facts in client.run(store_facts, remote.url, probe, files, on_error="return").items():
            if isinstance(facts, BaseException):
                raise RequestError(
                    f"the worker {address} cannot say whether it reaches {remote.url}: {facts}",
                    hint="look at the worker's log",
                )
            _check(f"the worker {address}", facts, remote.url, own)
            if facts["answer"] not in {f"{PROBES}/{name}" for name in store.names(PROBES)}:
                raise RequestError(f"what the worker {address} writes into {remote.url} is not seen here")
    finally:
        written = [f"{PROBES}/{name}" for name in store.names(PROBES)]
        store.remove([name for name in written if name.startswith(probe)])


def _check(who: str, facts: Mapping[str, Any], url: str, own: PublicKey) -> None:
    if facts.get("what") is not None:
        problem: Problem = facts["problem"] or Problem(
            "nothing is seen of what this machine wrote there",
            "give its environment the same endpoint, such as AWS_ENDPOINT_URL",
        )
        hint = f"on the worker's machine: {problem.hint}" if problem.hint else None
        raise RequestError(f"{who} {facts['what']} {url}: {problem.message}", hint=hint)
    mount = f"give all the same key: mount it as a file that {KEY_FILE} names"
    if facts["key"] is None:
        raise RequestError(f"{who} has no key to sign results in {url} with", hint=mount)
    raw, line = facts["key"]
    if raw not in all_trusted():
        raise RequestError(
            f"{who} signs results in {url} with a key that is not trusted here",
            hint=f"{mount}; or trust it: gravel trust add '{line}'",
        )
    if own.raw not in facts["trusted"]:
        raise RequestError(
            f"{who} does not trust the key that signs here",
            hint=f"{mount}; or there: gravel trust add '{own.line}'",
        )
    if facts["file"] is not None:
        raise RequestError(
            f"{who} does not see the file {facts['file']}",
            hint="put it into a store, and name it by its URL; or have it there under the same path",
        )
