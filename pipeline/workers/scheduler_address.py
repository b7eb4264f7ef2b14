"""The address of a scheduler, as `--cluster` names it: itself, or the scheduler file that has it."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from gravel.pipeline.core.errors import RequestError

PROTOCOLS = ("tcp", "tls", "ucx", "ws", "wss")

FILE = "file://"
"""Before a scheduler file whose name need not end in .json."""

_FORM = "write it like tcp://host:8786"


def scheduler_address(where: str) -> str:
    """Return the address that a `--cluster` value gives, itself or in the scheduler file that it names.

    Raises RequestError for a file that is not there or none of Dask's, and for what is no address.
    """
    if where.startswith(FILE):
        where = where.removeprefix(FILE)
    elif not where.endswith(".json"):
        return _checked(where, where)
    path = Path(where)
    try:
        stated = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise RequestError(
            f"there is no scheduler file {where}",
            hint="start the scheduler with --scheduler-file, on a disk that both see",
        ) from None
    except OSError as error:
        raise RequestError(f"the scheduler file {where} cannot be read: {error.strerror}") from None
    except ValueError:
        stated = None
    address = stated.get("address") if isinstance(stated, dict) else None
    if not isinstance(address, str):
        raise RequestError(
            f"{where} is no scheduler file: a JSON object with an `address` is expected",
            hint="name the file that the scheduler wrote, see --scheduler-file",
        )
    return _checked(address, f"{address} (in {where})")


def _checked(address: str, shown: str) -> str:
    protocol = address.partition("://")[0]
    if protocol not in PROTOCOLS:
        known = ", ".join(f"{each}://" for each in PROTOCOLS)
        raise RequestError(f"{shown} is no address of a scheduler, which begins with {known}", hint=_FORM)
    with suppress(ValueError):
        parts = urlsplit(address)
        if parts.hostname and parts.port is not None:
            return address
    raise RequestError(f"the address {shown} has no host with a port number", hint=_FORM)
