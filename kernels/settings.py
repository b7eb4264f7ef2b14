"""Settings of the libraries that kernels are compiled with, refused where nothing can run with them."""

from __future__ import annotations

import os
import traceback


class BadSetting(ValueError):
    """A variable or file of the user's with which a library cannot be used; the text names it."""


CONFIGURED = {
    "numba.core.config": ("Numba", "the variables NUMBA_... and .numba_config.yaml in the current folder"),
    "dask.config": ("Dask", "the variables DASK_..., the files of DASK_CONFIG, and ~/.config/dask"),
}
"""Modules that read settings: what raises in one is the user's; with the library and where they stand."""


def refuse_bad_settings() -> None:
    """Raise `BadSetting` for a variable with which Numba compiles nothing."""
    threads = os.environ.get("NUMBA_NUM_THREADS", "")
    if threads.strip().lstrip("+-").isdecimal() and int(threads) < 1:
        raise BadSetting(
            f"the variable NUMBA_NUM_THREADS is {threads!r}, and must be 1 or more: set it anew, or unset it"
        )


def setting_at_fault(error: BaseException) -> BadSetting | None:
    """Return an error that names a library's settings if one of them is what raised; else None."""
    if isinstance(error, BadSetting):
        return error
    modules = [frame.f_globals.get("__name__") for frame, _ in traceback.walk_tb(error.__traceback__)]
    found = next((each for each in modules if each in CONFIGURED), None)
    if found is None:
        return None
    library, where = CONFIGURED[found]
    text = " ".join(str(error).split())
    return BadSetting(f"{library}'s settings cannot be used: {text}; look through {where}")
