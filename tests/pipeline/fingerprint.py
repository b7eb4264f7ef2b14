"""Keeps every stage's `version` honest: a fingerprint of its code that changes when results may.

`tests/pipeline/fingerprints` has a file for each stage: its version, and the digest of the code that it leads
to. A test compares. A purely cosmetic change is accepted with

    python -m tests.pipeline.fingerprint --accept
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gravel.pipeline.core.files import ROOT
from gravel.pipeline.plugins.code import Sources
from gravel.stages.stage import all_stages

STORED = Path(__file__).with_name("fingerprints")
ACCEPT = "python -m tests.pipeline.fingerprint --accept"


@dataclass(frozen=True)
class Fingerprint:
    """A stage's declared version and the digest of its code."""

    version: int
    code: str


def current() -> dict[str, Fingerprint]:
    """Take the fingerprints of all stages of this code."""
    sources = Sources(ROOT)
    found = {}
    for name, stage in sorted(all_stages().items()):
        parts = ("run", "parameters", "source_ids", "ids_file", "with_vertices", "files")
        modules = {getattr(stage, part).__module__ for part in parts}
        if sources.path(f"gravel.stages.{name}") is not None:
            modules.add(f"gravel.stages.{name}")
        found[name] = Fingerprint(stage.version, sources.digest(*modules))
    return found


def compare(stored: Mapping[str, Fingerprint], current: Mapping[str, Fingerprint]) -> list[str]:
    """Say for each stage what is wrong between the stored fingerprints and the code; empty if nothing."""
    faults = []
    for name in sorted(stored.keys() | current.keys()):
        old, new = stored.get(name), current.get(name)
        if new is None:
            faults.append(f"stage {name} is stored and there is none; run `{ACCEPT}`")
        elif old is None:
            faults.append(f"stage {name} is new; run `{ACCEPT}` to store its fingerprint")
        elif old.version != new.version:
            faults.append(f"stage {name} went from version {old.version} to {new.version}; run `{ACCEPT}`")
        elif old.code != new.code:
            faults.append(
                f"the code of stage {name} changed and its version is still {new.version}: cached results "
                f"of the old code would be served. Raise `version` in stages/{name}.py; if no result can "
                f"differ, accept the change with `{ACCEPT}`"
            )
    return faults


def read(folder: Path = STORED) -> dict[str, Fingerprint]:
    """Read stored fingerprints."""
    return {file.stem: Fingerprint(**json.loads(file.read_text())) for file in folder.glob("*.json")}


def write(fingerprints: Mapping[str, Fingerprint], folder: Path = STORED) -> None:
    """Store fingerprints, and remove those of other stages."""
    folder.mkdir(exist_ok=True)
    for file in folder.glob("*.json"):
        if file.stem not in fingerprints:
            file.unlink()
    for name, fingerprint in fingerprints.items():
        (folder / f"{name}.json").write_text(json.dumps(vars(fingerprint), indent=2) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] != ["--accept"]:
        sys.exit(f"usage: {ACCEPT}; pytest tests/pipeline/test_fingerprint.py compares")
    found = current()
    write(found)
    print(f"stored the fingerprints of {len(found)} stages in {STORED.relative_to(ROOT)}")
