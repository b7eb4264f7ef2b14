"""What a push or a pull did."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Moved:
    """What a push or pull did: counts of what was copied, and of artifacts that were there."""

    where: str
    recipes: int = 0
    artifacts: int = 0
    bytes: int = 0
    runs: int = 0
    present: int = 0
    damaged: dict[str, str] = field(default_factory=dict)  # artifact or recipe -> what is wrong with it
    unsigned: int = 0  # of the recipes, those that came without a signature and do not count
    untrusted: dict[str, int] = field(default_factory=dict)  # key that is not trusted -> recipes by it
