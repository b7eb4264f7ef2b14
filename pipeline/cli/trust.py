"""`gravel trust`: this user's key, and the keys of others whose results count."""

from __future__ import annotations

from pathlib import Path

import click

from gravel.pipeline.cli.options import json_option, print_json
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.trust.keys import (
    PublicKey,
    add_trusted,
    check_key_name,
    own_public_key,
    parse_key,
    remove_trusted,
    signing_key,
    trusted_keys,
)

EXAMPLE = "write it like gravel trust add 'ssh-ed25519 AAAA... name', or name a file that holds it"


@click.group()
def command() -> None:
    """Say whose results count besides those that were made here.

    `gravel cache push` signs recipes with this user's key. What `gravel cache pull` and a cache in a store
    bring counts if this user or a trusted key signed it; anything else is computed again.
    """


@command.command("key", short_help="Print this user's public key.")
@json_option
def show_key(as_json: bool) -> None:
    """Print this user's public key for others to add; make one if there is none."""
    public = signing_key()[1]
    if as_json:
        print_json(_entry(public))
        return
    click.echo(public.line)
    click.echo(f"its fingerprint is {public.fingerprint}", err=True)


@command.command("add")
@click.argument("key", nargs=-1, required=True)
@click.option("--name", metavar="NAME", help="The owner's name, instead of the one in the key.")
def add_key(key: tuple[str, ...], name: str | None) -> None:
    """Trust results that KEY signed. KEY is a public key, or a file that contains one."""
    text = " ".join(key)
    where = ""
    if len(key) == 1 and not text.startswith("ssh-"):
        where, text = f"{text}: ", _read(text)
    try:
        found = parse_key(text)
        if name is not None:
            found = PublicKey(found.raw, check_key_name(name))
    except ValueError as error:
        raise RequestError(f"{where}this is no public key: {error}", hint=EXAMPLE) from error
    if found == own_public_key():
        click.echo(f"{found.fingerprint} is your own key, which is always trusted")
        return
    added = add_trusted(found)
    click.echo(f"{'trusted from now on' if added else 'trusted already'}: {_describe(found)}")


def _read(path: str) -> str:
    try:
        text = Path(path).expanduser().read_text()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        problem = f"{path!r} is neither a public key nor a file that can be read: {reason}"
        raise RequestError(problem, hint=EXAMPLE) from error
    if "PRIVATE KEY" in text:
        hint = "add the public one, and give this one to nobody"
        raise RequestError(f"{path} holds a private key", hint=hint)
    return text.strip()


@command.command("list")
@json_option
def list_keys(as_json: bool) -> None:
    """List this user's key and the keys that are trusted."""
    own, keys = own_public_key(), trusted_keys()
    if as_json:
        print_json({"own": None if own is None else _entry(own), "trusted": [_entry(key) for key in keys]})
        return
    click.echo(f"your own key: {_describe(own) if own else 'none yet; `gravel trust key` makes it'}")
    for key in keys:
        click.echo(f"trusted: {_describe(key)}\n  {key.text}")
    if not keys:
        click.echo("no keys of others are trusted")


@command.command("remove")
@click.argument("key", nargs=-1, required=True)
def remove_key(key: tuple[str, ...]) -> None:
    """Stop trusting results that KEY signed. KEY is a fingerprint, a name or the key itself."""
    gone = remove_trusted(" ".join(key))
    click.echo(f"not trusted any more: {_describe(gone)}; what it signed is computed again")


def _describe(key: PublicKey) -> str:
    return f"{key.fingerprint} ({key.name})" if key.name else key.fingerprint


def _entry(key: PublicKey) -> dict[str, str]:
    return {"name": key.name, "fingerprint": key.fingerprint, "key": key.text}
