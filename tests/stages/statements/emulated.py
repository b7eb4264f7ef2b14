"""Cases on an emulated GPU: `python -m tests.stages.statements.emulated FOLDER SCALE NAME ...`.

Arrays are as large as on a GPU, and CuPy's pool is counted (`tests.emulation.device_pool`). It prints what
is stated for each case, what the pool held at most, and what arrays held at most; then the same where
results stay on the device.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

from tests.emulation import device_cupy

if __name__ == "__main__":
    # Before any module of gravel finds that there is none.
    device_cupy.install()

from tests.emulation.device_cupy import POOL
from tests.stages.statements.cases import CASES, filled
from tests.stages.statements.files import write_files
from tests.stages.statements.measuring import measure


class PoolPeak:
    """What the pool holds at most while a `with` block runs, above what arrays held before."""

    host_bytes = device_bytes = used_bytes = 0

    def __enter__(self) -> PoolPeak:
        POOL.restart()
        self._before = POOL.total_bytes()
        return self

    def __exit__(self, *_: object) -> None:
        self.device_bytes = POOL.peak - self._before
        self.used_bytes = POOL.most_used - self._before


def emulated(folder: Path, name: str, scale: int, *, keeps: bool) -> dict[str, Any]:
    """Run a case on an emulated GPU; returns bytes stated, bytes of the pool and bytes of arrays."""
    write_files(filled(CASES[name].parameters, scale, str(folder)), scale)
    peak = PoolPeak()
    stated, taken = measure(folder, name, scale, "cuda", peak, keeps=keeps)["device"]
    return {"name": name, "keeps": keeps, "device": [stated, taken], "arrays": peak.used_bytes}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in sys.argv[3:]:
        for keeps in (False, True):
            found = emulated(Path(sys.argv[1]), name, int(sys.argv[2]), keeps=keeps)
            print(json.dumps(found), flush=True)
