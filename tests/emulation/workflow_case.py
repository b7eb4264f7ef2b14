"""A workflow's stages on an emulated GPU: `python -m tests.emulation.workflow_case FILE [NAME=VALUE ...]`.

Results stay there where the stage that reads them is on the GPU. It prints, as JSON, the kernel files that
each stage run loads, with their macros.
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

from gravel.kernels import cuda
from gravel.kernels.placement.device_copies import COPIES
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.workers.results_in_memory import in_host_memory
from gravel.pipeline.workflow.loader import load_workflow
from gravel.stages.context import PlainContext
from gravel.stages.stage import Machine

MACHINE = Machine(backend="cuda", threads=2, host_memory=1 << 33, device_memory=1 << 33)


def loaded(file: Path, settings: dict[str, str]) -> dict[str, Any]:
    """Run all stages but reports, and give what each loads."""
    plan = build_plan(load_workflow(file, settings))
    COPIES.budget = 1 << 33
    results: dict[str, Any] = {}
    found: dict[str, Any] = {}
    for key, run in plan.runs.items():
        if run.stage.name == "report":
            continue
        context = PlainContext(MACHINE)
        context.keeps_device_arrays = True
        cuda._MODULES.clear()
        inputs = {slot: results[given[0].run][given[0].output] for slot, given in run.inputs.items()}
        made = run.stage.run(context, run.parameters, **inputs)
        results[key] = tuple(map(in_host_memory, made if isinstance(made, tuple) else (made,)))
        found[key] = [[path, dict(macros)] for _, path, macros in cuda._MODULES]
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(loaded(Path(sys.argv[1]), dict(each.split("=") for each in sys.argv[2:]))))
