"""What a command may end with: the right answer or a clear refusal, within seconds."""

from __future__ import annotations

import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

MAX_SILENCE = 10.0
"""Seconds that a command may wait for something; what it computes on these small graphs takes less."""

MAX_WORK = 40.0
"""Seconds of processor time that a command may take, the compilation of kernels included."""

IDLE = 0.02
"""Of processor time: who takes less while `MAX_SILENCE` passes was waiting, however busy the machine is."""

PROGRESS = 60.0
"""Seconds between two lines (seen with `-s`) on how far a drill is."""

CODES = (0, 1, 2)
_DEFECT = ("Traceback", "gravel failed", "a defect of gravel", "most recent call last", "[Errno ")
"""Of a defect, and of an error of the system that is passed on as Python writes it."""


class Hang(BaseException):
    """A command that took too long; not an Exception, so that nothing in gravel catches it."""


@contextmanager
def limited() -> Iterator[None]:
    """Raise `Hang` in the main thread when it waits or works too long. Not with pytest-timeout."""
    began = last = time.process_time()

    def stop(number: int, frame: Any) -> None:
        nonlocal last
        now = time.process_time()
        if now - last < IDLE:
            raise Hang(f"waited {MAX_SILENCE:.0f} s for something")
        if now - began > MAX_WORK:
            raise Hang(f"no end after {MAX_WORK:.0f} s of work")
        last = now

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, MAX_SILENCE, MAX_SILENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def fault(done: CompletedProcess[str]) -> str | None:
    """Say what is wrong with how a command ended, or None for success and for a clear refusal."""
    said = done.stdout + done.stderr
    for words in _DEFECT:
        if words in said:
            return said if words == "Traceback" else next(x for x in said.splitlines() if words in x)
    if done.returncode not in CODES:
        return f"exit {done.returncode}: {said}"
    if done.returncode and not re.search(r"\berror:", said, re.IGNORECASE) and "damaged" not in said:
        return f"exit {done.returncode} without an error: {said!r}"
    return None


def refusal(done: CompletedProcess[str]) -> str:
    """Return the error of a command that failed, without what differs from try to try."""
    lines = [line for line in done.stderr.splitlines() if re.search(r"\berror:", line, re.IGNORECASE)]
    text = lines[0] if lines else (done.stderr + done.stdout)[:80]
    text = re.sub(r".*?\berror:\s*", "", text, flags=re.IGNORECASE)
    return _plain(text)[:110]


class Tally:
    """Counts what happened and keeps an example of each failure, so that a drill goes on and tells all."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self._told = time.monotonic()

    def fail(self, what: str, harm: str) -> None:
        """Count a failure; `what` says its kind, `harm` what was done before."""
        kind = _plain(_with_place(what))
        self.failures[kind] += 1
        if self.failures[kind] == 1:
            print(f"\nfailure: {kind}\n    after {harm[:2000]}", flush=True)
        if len(harm) < len(self.examples.get(kind, harm + " ")):
            self.examples[kind] = harm  # the shortest is the easiest to understand

    def check(self, done: CompletedProcess[str], verb: str, harm: str) -> bool:
        """Count how a command ended; returns whether it succeeded."""
        self.counts["commands"] += 1
        if time.monotonic() - self._told > PROGRESS:
            self._told = time.monotonic()
            print(f"so far: {dict(self.counts)}", flush=True)
        if (problem := fault(done)) is not None:
            self.fail(f"{verb}: {problem}", harm)
            return False
        if done.returncode:
            self.counts["refused"] += 1
            self.refusals[refusal(done)] += 1
        return done.returncode == 0

    def tell(self, name: str) -> None:
        """Print the counts, then fail if anything did."""
        print(f"{name}: " + ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items())))
        for text, count in self.refusals.most_common(30):
            print(f"  refused {count} times: {text}")
        told = [
            f"{count} times: {kind}\n    after {self.examples[kind]}"
            for kind, count in self.failures.most_common()
        ]
        assert not told, f"{self.failures.total()} failures of {len(told)} kinds:\n" + "\n".join(told)


def _plain(text: str) -> str:
    """Leave out what differs from try to try."""
    text = re.sub(r"(/[\w.@-]+){2,}/?", "PATH", text)
    text = re.sub(r"\b[0-9a-f]{8,}\b", "ID", text)
    text = re.sub(r"20\d{6}-\d{6}-\w+(-\w+)?", "RUN", text)
    return re.sub(r"\d[\d,.]*", "N", text)[:600]


def _with_place(text: str) -> str:
    """Put the end of a saved traceback in place of the name of its file, which goes."""
    found = re.search(r"(?:traceback is|details are) in (\S+)", text)
    if found is None:
        return text
    path = Path(found[1])
    try:
        frames = re.findall(r'File ".*/((?:pipeline|stages|kernels)/\S+)", line (\d+)', path.read_text())
        path.unlink()
    except OSError:
        return text
    line = next((line for line in text.splitlines() if "error:" in line), text)
    return line.partition("; the traceback")[0] + " at " + " < ".join(":".join(one) for one in frames[:-4:-1])
