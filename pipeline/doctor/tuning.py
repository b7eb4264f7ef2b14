"""`gravel doctor --tune`: constants of searches measured on this GPU, and what was stored by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gravel.kernels.tuned.stored import current_device
from gravel.pipeline.core.devices import find_devices
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.doctor.finding import Finding

if TYPE_CHECKING:
    from gravel.kernels.probes.tuning import Bench, Outcome

SUBJECT = "tuned constants"


def tune(report: Callable[[Outcome], None], bench: Bench | None = None) -> dict[str, Any]:
    """Measure the constants on the first GPU, telling of each, and store them for this machine.

    Returns the device, when it was, what was found for each constant, and the folder that has it. Raises
    `RequestError` where there is no GPU that gravel runs on, no CuPy, or nowhere to store it.
    """
    from gravel.kernels.probes.tuning import GpuBench
    from gravel.kernels.probes.tuning import tune as measure
    from gravel.kernels.tuned.stored import Stored, save

    device = _device(bench is None)
    found = []
    for outcome in measure(GpuBench() if bench is None else bench):
        report(outcome)
        found.append(outcome)
    measured = datetime.now(UTC).isoformat(timespec="seconds")
    records = {outcome.constant.name: outcome.record() for outcome in found}
    kept = {name: record for name, record in records.items() if record["milliseconds"]}
    try:
        folder = save(Stored(device, measured, kept))
    except (OSError, RuntimeError) as error:
        raise RequestError(
            f"the constants were measured and cannot be stored: {error}",
            hint="set GRAVEL_COMPILED to a folder of your own",
        ) from None
    return {"device": device, "measured": measured, "constants": records, "folder": str(folder)}


def _device(measured: bool) -> str:
    """Name the first GPU, if constants can be `measured` there, or are pretended to be."""
    devices = [device for device in find_devices() if not device.fake]
    if not devices:
        raise RequestError(
            "constants are tuned on a GPU, and this machine has none with an NVIDIA driver",
            hint="searches on the CPU have no constants to tune",
        )
    if (refusal := devices[0].refusal) is not None:
        raise RequestError(refusal)
    if measured:
        try:
            return current_device()
        except ImportError as error:
            raise RequestError(
                f"constants are tuned with CuPy, which is not here: {error}", hint="pip install 'gravel[gpu]'"
            ) from None
    return devices[0].name


def tuned() -> Iterator[Finding]:
    """Say which constants searches take from a measurement, and why not where they do not."""
    from gravel.kernels.tuned.constants import CONSTANTS
    from gravel.kernels.tuned.stored import load, outdated, void

    devices = [device for device in find_devices() if not device.fake]
    if not devices:
        return
    stored, cure = load(), "gravel doctor --tune (a minute)"
    if stored is None:
        yield Finding(SUBJECT, "good", f"none; searches take their defaults, unless measured by {cure}")
        return
    if (why := void(stored, devices[0].name)) is not None:
        yield Finding(SUBJECT, "note", why, cure)
        return
    old = [why for constant in CONSTANTS if (why := outdated(stored, constant)) is not None]
    others = {name: found for name, found in stored.constants.items() if found["value"] != found["default"]}
    listed = ", ".join(f"{name} {found['value']:g}" for name, found in sorted(others.items()))
    text = f"measured {stored.measured}: {listed or 'the defaults are best'}"
    yield Finding(SUBJECT, "note" if old else "good", "; ".join([text, *old]), cure if old else None)
