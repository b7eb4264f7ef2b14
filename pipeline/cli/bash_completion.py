"""Completion in bash of words with `=`, at which bash splits words: `--set scale=20` reaches it as three."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from click.shell_completion import BashComplete, add_completion_class, split_arg_string

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

VARIABLE = "_GRAVEL_COMPLETE"
"""Set by a shell that asks for completions; its value names the shell."""


class Bash(BashComplete):
    """Joins what bash splits, and completes what follows the `=`."""

    _before = ""  # the part of the word that bash does not replace

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one to complete, and this one, whole."""
        given = split_arg_string(os.environ["COMP_WORDS"])
        place = int(os.environ["COMP_CWORD"])
        words = given[: place + 1]
        if len(words) <= place:
            words.append("")
        joined: list[str] = []
        for word in words:
            if joined and (word == "=" or joined[-1].endswith("=")) and len(joined) > 1:
                joined[-1] += word
            else:
                joined.append(word)
        last = joined[-1]
        if "=" in last and last != words[-1]:
            self._before = last[: last.rfind("=") + 1]
        return joined[1:-1], last

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Write a completion without what stays before it on the line."""
        return f"{item.type},{item.value.removeprefix(self._before)}"


def add_shells() -> None:
    """Have click use this class for bash."""
    add_completion_class(Bash)
