"""Python, the packages that gravel rests on, its compiler's threads, stages of other packages."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from gravel.pipeline.doctor.finding import Finding

REQUIRED = (
    *("numpy", "zarr", "numba", "pyarrow", "pydantic", "dask", "distributed", "blake3", "matplotlib"),
    *("click", "filelock", "fsspec", "jinja2", "psutil", "rich", "ruamel.yaml", "zstandard", "nvidia-ml-py"),
    *("crc32c", "cronsim", "google-crc32c", "tzdata"),
)


def python() -> Iterator[Finding]:
    """Check the version of Python."""
    version = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info >= (3, 11)
    yield Finding(
        "python",
        "good" if good else "bad",
        f"{version} at {sys.executable}",
        None if good else "use Python 3.11 or later",
    )


def packages() -> Iterator[Finding]:
    """Check that every package is there, in a version that gravel was made for."""
    from importlib.metadata import PackageNotFoundError, version

    there, missing = [], []
    for name in ("gravel", *REQUIRED):
        try:
            there.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    yield Finding("packages", "good", ", ".join(there))
    if missing == ["gravel"]:
        cure = "not needed to run from here; pip install -e . gives the command and its version"
        yield Finding("packages", "note", "gravel itself is not installed, but run from a folder", cure)
        return
    if missing:
        yield Finding("packages", "bad", f"missing: {', '.join(missing)}", "pip install -e . in the checkout")
    for requirement, installed in unfit("gravel"):
        cure = f"pip install '{requirement}'"
        yield Finding("packages", "bad", f"{installed} is here, and {requirement} is needed", cure)


def unfit(package: str) -> list[tuple[str, str]]:
    """Return the requirements of a package that the installed versions do not meet, with these."""
    from importlib.metadata import PackageNotFoundError, requires, version

    from packaging.requirements import Requirement

    found = []
    for text in requires(package) or ():
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            installed = version(requirement.name)
        except PackageNotFoundError:
            continue  # reported as missing
        if not requirement.specifier.contains(installed, prereleases=True):
            found.append((f"{requirement.name}{requirement.specifier}", f"{requirement.name} {installed}"))
    return found


def own_stages() -> Iterator[Finding]:
    """Check the stages that installed packages add."""
    from gravel.pipeline.plugins.installed import known_stages

    catalogue = known_stages()
    sound = [stage for stage in catalogue.sound().values() if stage.origin is not None]
    if sound:
        text = ", ".join(
            f"{stage.name} of {stage.origin.place}" for stage in sound if stage.origin is not None
        )
        yield Finding("own stages", "good", text)
    for problem in catalogue.problems().values():
        cure = "update or uninstall the package; its stage is left out until then"
        yield Finding("own stages", "note", problem, cure)


def threading_layer() -> Iterator[Finding]:
    """Compile and run a parallel loop."""
    import numba

    from gravel.kernels import jit

    @numba.njit(parallel=True)  # type: ignore[untyped-decorator]
    def count(n: int) -> int:
        total = 0
        for _ in jit.prange(n):
            total += 1
        return total

    try:
        done = count(1000) == 1000
        layer = numba.threading_layer()
    except ValueError as error:
        needed = "install OpenMP's runtime (libgomp1), which Numba needs"
        yield Finding("threading layer", "bad", str(error), needed)
        return
    good = done and layer == "omp"
    cure = None if good else "install OpenMP's runtime (libgomp1); other layers abort under two threads"
    threads = numba.config.NUMBA_NUM_THREADS
    yield Finding("threading layer", "good" if good else "bad", f"{layer}, {threads} threads", cure)
