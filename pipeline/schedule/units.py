"""Unit files for systemd and a line for cron, which keep schedules going."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

SERVICE = """\
[Unit]
Description=gravel schedules of {shown}

[Service]
Type=exec
ExecStart={command}
Restart=on-failure
RestartSec=10
# Only the service gets the signal to stop; it interrupts its runs and waits for them.
KillMode=mixed
TimeoutStopSec=90
SuccessExitStatus=130

[Install]
WantedBy={target}
"""

PASS = """\
[Unit]
Description=One pass over the gravel schedules of {shown}

[Service]
Type=oneshot
ExecStart={command}
KillMode=mixed
TimeoutStopSec=90
SuccessExitStatus=130
"""

TIMER = """\
[Unit]
Description=Passes over the gravel schedules of {shown}

[Timer]
OnCalendar=minutely
AccuracySec=1s
Persistent=true

[Install]
WantedBy=timers.target
"""

NAME = "gravel-schedule"


def service_units(program: Sequence[str], cache: str, *, system: bool) -> dict[str, str]:
    """Return the unit of `gravel schedule run`; `program` are the words that start gravel."""
    target = "multi-user.target" if system else "default.target"
    words = [*program, "schedule", "run", "--cache", cache]
    text = SERVICE.format(shown=_escape(cache), command=_line(words), target=target)
    return {f"{NAME}.service": text}


def timer_units(program: Sequence[str], cache: str) -> dict[str, str]:
    """Return the units of a timer that makes a pass every minute."""
    words = [*program, "schedule", "tick", "--cache", cache]
    return {
        f"{NAME}.service": PASS.format(shown=_escape(cache), command=_line(words)),
        f"{NAME}.timer": TIMER.format(shown=_escape(cache)),
    }


def cron_line(program: Sequence[str], cache: str) -> str:
    """Return the line of a crontab that makes a pass every minute."""
    command = shlex.join([*program, "schedule", "tick", "--cache", cache])
    return "* * * * * " + command.replace("%", r"\%") + "\n"


def _escape(text: str) -> str:
    return text.replace("%", "%%").replace("\n", " ")


def _line(words: Sequence[str]) -> str:
    return " ".join(_word(word) for word in words)


def _word(word: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9_@+=:,./-]+", word):
        return word
    inner = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return '"' + inner.replace("\n", "\\n") + '"'
