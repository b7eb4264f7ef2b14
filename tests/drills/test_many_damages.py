"""Thousands of pieces of damage to small caches: the right answer or a clear refusal."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.drills.conftest import share
from tests.drills.harm import HARMS, SEALED, Harm, take_modes
from tests.drills.outcomes import Tally
from tests.drills.small import SEARCHES, STAGES, Small, Trial, copies

pytestmark = [pytest.mark.slow, pytest.mark.timeout(0)]

PARTS = 10
"""Tests of the drill, each with its own share of the pieces; `-n 2` has two at work at once."""

MAX_PIECES = 39
"""Pieces of one case; twenty on average."""


def choose(dice: random.Random, sealed: bool) -> tuple[str, Harm]:
    if sealed and dice.random() < 0.5:
        name = dice.choice(sorted(SEALED))
        return f"sealed/{name}", SEALED[name]
    group = dice.choice(sorted(HARMS))
    name = dice.choice(sorted(HARMS[group]))
    return f"{group}/{name}", HARMS[group][name]


def hurt(dice: random.Random, cache: Path, pieces: int, tally: Tally, *, sealed: bool) -> list[str]:
    """Do so many pieces of damage to a cache and say which."""
    done: list[str] = []
    while len(done) < pieces:
        name, harm = choose(dice, sealed)
        if (what := harm(dice, cache)) is not None:
            done.append(f"[{name}] {what}")
            tally.counts["pieces"] += 1
            tally.counts[f"pieces of {name.partition('/')[0]}"] += 1
    return done


def exercise(trial: Trial, dice: random.Random, *, verify_first: bool) -> None:
    """Use a damaged cache in one of several ways, then expect it whole."""
    if verify_first:
        trial.ask("cache", "verify")
    before = dice.choice(["", "plan", "show", "ls", "gc", "verify", "runs", "status", "diff"])
    file = str(trial.small.folder / "small.yaml")
    words = {
        "plan": ("plan", file),
        "show": ("show", dice.choice(STAGES)),
        "ls": ("cache", "ls"),
        "gc": ("cache", "gc", "--yes"),
        "verify": ("cache", "verify"),
        "runs": ("runs",),
        "status": ("status",),
        "diff": ("diff", "last", "last"),
    }
    if before:
        trial.ask(*words[before])
    way = dice.choice(["run", "force", "export", "export"])
    if way == "export":
        trial.compare((dice.choice(SEARCHES),))
    chosen = dice.sample(STAGES, dice.randrange(1, 5))
    good = trial.run(*(word for stage in chosen for word in ("--force", stage) if way == "force"))
    good = trial.compare() and good
    trial.tally.counts["cases"] += 1
    trial.tally.counts["cases served"] += good
    trial.ask("cache", "verify")
    if not (trial.run() and trial.compare()):
        trial.tally.counts["cases refused to the end"] += 1
        trial.tally.refusals[f"(to the end) {trial.harm.replace(str(trial.cache), '')[:150]}"] += 1


@pytest.mark.parametrize("part", range(PARTS))
def test_the_answer_is_right_or_refused(small, tmp_path, tries, seed, part) -> None:
    """One part in ten is of records sealed again by whoever changed them; those are verified first."""
    pieces = share(tries("damage"), part, PARTS)
    dice, tally = random.Random(f"damage {seed} {part}"), Tally()
    for cache in copies(small, tmp_path):
        if (left := pieces - tally.counts["pieces"]) <= 0:
            break
        sealed = part == PARTS - 1
        done = hurt(dice, cache, min(left, dice.randint(1, MAX_PIECES)), tally, sealed=sealed)
        exercise(Trial(small, cache, tally, "; ".join(done)), dice, verify_first=sealed)
    tally.tell(f"damage, part {part}")


def obey_modes() -> None:
    """Have this process bound by the modes of files, as everybody but root is."""
    if os.getuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, sets) == 0
    for number in range(3):  # effective, permitted, inherited; of the first 32 capabilities
        sets[number] &= ~(1 << 1 | 1 << 2)  # DAC_OVERRIDE, DAC_READ_SEARCH
    assert libc.capset(header, sets) == 0, os.strerror(ctypes.get_errno())


def _without_modes(small: Small, folder: Path, pieces: int, seed: str, send: Callable[[Tally], None]) -> None:
    """Take permissions away, in a process that obeys them."""
    obey_modes()
    dice, tally = random.Random(seed), Tally()
    for cache in copies(small, folder):
        if (left := pieces - tally.counts["pieces"]) <= 0:
            break
        done: list[str] = []
        wanted = min(left, dice.randint(1, 4))
        while len(done) < wanted:
            if (what := take_modes(dice, cache)) is not None:
                done.append(what)
        tally.counts["pieces"] += wanted
        trial = Trial(small, cache, tally, "; ".join(done))
        exercise(trial, dice, verify_first=False)
        give_modes(cache)
        if not (trial.run() and trial.compare()):
            tally.fail("not served after the modes were given back", trial.harm)
    send(tally)


def give_modes(folder: Path) -> None:
    """Make all that lies in a folder readable and writable again, each folder before what is in it."""
    folder.chmod(0o755)
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            give_modes(path)
        elif not path.is_symlink():
            path.chmod(0o644)


def test_permissions_taken_away(small: Small, tmp_path: Path, tries: Callable[[str], int], seed: int) -> None:
    """One piece in twenty of the damage."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    arguments = (small, tmp_path, tries("damage") // 20, f"modes {seed}", theirs.send)
    process = spawn.Process(target=_without_modes, args=arguments)
    process.start()
    theirs.close()
    try:
        tally = ours.recv()
    except EOFError:
        pytest.fail("the process without permissions died")
    process.join(60)
    tally.tell("permissions")
