"""What a verifier says about one rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NAMED = 5
"""Offenders that a broken rule names; more of them help nobody who reads the message."""


@dataclass(frozen=True)
class Check:
    """One rule of one result: `faults` vertices or arcs break it, the first of them are named.

    `vertices` are ascending. `arcs` names, where the rule is about arcs, one offending arc (u, v) for each
    named vertex u.
    """

    name: str
    rule: str
    faults: int = 0
    vertices: tuple[int, ...] = ()
    arcs: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(
        cls, rules: Mapping[str, str], name: str, offenders: Any, arcs: tuple[tuple[int, int], ...] = ()
    ) -> Check:
        """Make a check from all vertices that break the rule, ascending."""
        return cls(name, rules[name], len(offenders), tuple(int(v) for v in offenders[:NAMED]), arcs)

    @property
    def passed(self) -> bool:
        """Whether nothing breaks the rule."""
        return self.faults == 0
