"""When a job is due: cron expressions in a time zone.

Five fields (minute, hour, day of month, month, day of week) or six (seconds first), as cronsim reads them:
names (`MON`, `JAN`), ranges, steps, lists, `L` (last day of the month), `FRI#2`, `FRIL`; or one of the
names in `NICKNAMES`.

Where the clocks of a zone change, five fields keep Debian cron's rules. A job at set times of the day (no
`*` at the start of its minutes or its hours) runs once a day: a time that the change leaves out is due at
the first minute after the gap, and one that occurs twice is due the first time. Every other job, and every
expression with seconds, follows the time that passes: what is left out is not due, and what occurs twice is
due twice.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from itertools import count, takewhile
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from cronsim import CronSim, CronSimError

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.names import nearest

NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}

FIELDS = "minute, hour, day of month, month and day of week, such as '0 3 * * *' for 03:00 every day"


class Times:
    """The due times of a cron expression in a zone, in whole seconds since 1970 (UTC).

    Raises RequestError for an expression that cannot be read or never comes true, and for an unknown zone.
    """

    def __init__(self, cron: str, zone: str) -> None:
        self._zone = find_zone(zone)
        self._fields = NICKNAMES.get(cron.strip().lower(), cron)
        never = RequestError(f"the cron expression {cron!r} names a day that never comes")
        try:
            CronSim(self._fields, datetime.now(UTC))
        except CronSimError as error:
            if _never(self._fields):
                raise never from None
            raise RequestError(
                f"{cron!r} is no cron expression: {_complaint(str(error), self._fields)}",
                hint=f"write {FIELDS}; or one of {', '.join(NICKNAMES)}",
            ) from None
        if self.after(datetime.now(UTC).timestamp()) is None:
            raise never

    def after(self, moment: float) -> int | None:
        """Return the first due time later than a moment, or None if there is none within 50 years."""
        return next(self.later(moment), None)

    def between(self, after: float, until: float, most: int) -> list[int]:
        """Return the due times in (after, until], in order; of more than `most` the newest."""
        first = self.after(after)
        if first is None or first > until:
            return []
        # A minutely job may have been due a million times; only the end of a long stretch is gone through.
        for power in count():
            start = max(after, until - 60.0 * 4**power)
            found = deque(takewhile(lambda due: due <= until, self.later(start)), most)
            if start == after or len(found) == most:
                break
        return list(found)

    def later(self, moment: float) -> Iterator[int]:
        """Yield the due times later than a moment, in order."""
        last = moment
        try:
            for found in CronSim(self._fields, datetime.fromtimestamp(int(moment), self._zone)):
                due = int(found.timestamp())
                # In an hour that occurs twice cronsim names the first pass, which may lie behind.
                if due > last:
                    last = due
                    yield due
        except OverflowError:  # the year 9999 is over
            return


times_of = lru_cache(maxsize=256)(Times)
"""The times of an expression in a zone, read once."""


def _never(fields: str) -> bool:
    """Say whether an expression that was refused only names a day that its months lack."""
    parts = fields.split()
    try:
        CronSim(" ".join([*parts[:-2], "*", parts[-1]]), datetime.now(UTC))
        CronSim(" ".join([*parts[:-3], "*", *parts[-2:]]), datetime.now(UTC))
    except (CronSimError, IndexError):
        return False
    return len(parts) in (5, 6)


def _complaint(reason: str, fields: str) -> str:
    parts = fields.split()
    if len(parts) not in (5, 6):
        return f"it has {len(parts)} {'field' if len(parts) == 1 else 'fields'}, and five are expected"
    names = ["second", "minute", "hour", "day-of-month", "month", "day-of-week"][-len(parts) :]
    wrong = reason.removeprefix("Bad ")
    if wrong not in names:
        return reason.lower()
    return f"{parts[names.index(wrong)]!r} is no {wrong.replace('-', ' ')}"


def find_zone(name: str) -> tzinfo:
    """Return a time zone by its name, such as Europe/Berlin; raises RequestError for an unknown one."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        known = sorted(available_timezones())
        cities = {zone.rpartition("/")[2]: zone for zone in known}
        meant = nearest(name, known) or cities.get(nearest(name, cities) or "")
        other = "name one such as Europe/Berlin, America/New_York or UTC"
        hint = f"did you mean {meant}?" if meant else other
        raise RequestError(f"there is no time zone {name!r}", hint=hint) from None


def local_zone() -> str:
    """Return the name of this machine's zone; UTC where it has none."""
    candidates = [os.environ.get("TZ", "").removeprefix(":")]
    with suppress(OSError, ValueError):
        candidates.append(Path("/etc/localtime").resolve().as_posix().partition("zoneinfo/")[2])
        candidates.append(Path("/etc/timezone").read_text(encoding="utf-8").strip())
    for candidate in filter(None, candidates):
        with suppress(RequestError):
            find_zone(candidate)
            return candidate
    return "UTC"


def iso(moment: float) -> str:
    """Write a moment as it lies on disk: 2026-11-20T03:00:00Z."""
    return datetime.fromtimestamp(int(moment), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def from_iso(text: str) -> int:
    """Read what `iso` wrote; raises ValueError."""
    return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp())
