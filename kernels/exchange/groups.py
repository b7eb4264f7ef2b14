"""Ranks in groups of equal size, as GPUs in hosts: rank r is member r mod k of group r // k."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Groups:
    """`count` groups of `members` ranks, seen by one rank."""

    rank: int
    count: int
    members: int

    @classmethod
    def of(cls, rank: int, size: int, count: int) -> Groups:
        """Cut `size` ranks into `count` groups; raises ValueError when they would not be equal."""
        if count < 1 or size % count:
            raise ValueError(f"{size} ranks do not make {count} equal groups")
        return cls(rank, count, size // count)

    @property
    def group(self) -> int:
        """The group of this rank."""
        return self.rank // self.members

    @property
    def member(self) -> int:
        """The place of this rank in its group."""
        return self.rank % self.members

    @property
    def mates(self) -> tuple[int, ...]:
        """The other ranks of this group."""
        first = self.group * self.members
        return tuple(rank for rank in range(first, first + self.members) if rank != self.rank)

    @property
    def twins(self) -> tuple[int, ...]:
        """The ranks of this place in the other groups."""
        places = range(self.member, self.count * self.members, self.members)
        return tuple(rank for rank in places if rank != self.rank)

    @property
    def leader(self) -> int:
        """The first rank of this group."""
        return self.group * self.members

    @property
    def leads(self) -> bool:
        """Whether this rank is its group's leader."""
        return self.member == 0

    def at(self, group: int, member: int) -> int:
        """Give the rank at this place of a group."""
        return group * self.members + member
