"""Which files of `pipeline/` a run enters: those that execute a function, not those that are only imported.

    python -m tests.pipeline.entered_files [WORKFLOW]

runs a workflow on the inline cluster with an empty cache, then again, and lists what each run enters.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]

CODE = """
import sys, threading
entered, listing = set(), sys.argv.pop(1)
def enter(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_flags & 1:  # a function: bodies of modules and classes are not optimized
        entered.add((code.co_filename, code.co_qualname))
threading.setprofile(enter)
sys.setprofile(enter)
from gravel.pipeline.cli import main
try:
    main(sys.argv[1:])
finally:
    sys.setprofile(None)
    with open(listing, "w") as file:
        file.writelines(f"{name}\\t{function}\\n" for name, function in sorted(entered))
"""


def entered_by(arguments: list[str]) -> dict[str, list[str]]:
    """Run `gravel` with these arguments, and return the files of this checkout that it enters."""
    with tempfile.TemporaryDirectory() as folder:
        listing = Path(folder) / "entered"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", CODE, str(listing), *arguments]
        subprocess.run(command, check=True, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
        found: dict[str, list[str]] = {}
        for line in listing.read_text(encoding="utf-8").splitlines():
            name, function = line.split("\t")
            path = Path(name).resolve()
            if path.is_relative_to(ROOT):
                found.setdefault(path.relative_to(ROOT).as_posix(), []).append(function)
    return found


def rooms(files: Iterable[str]) -> Counter[str]:
    """Count the files of each room of the pipeline."""
    return Counter(Path(file).parts[1] for file in files if file.startswith("pipeline/"))


def main() -> None:
    """Count what a first run enters, and what a run that finds everything enters."""
    workflow = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "workflows" / "quickstart.yaml")
    with tempfile.TemporaryDirectory() as cache:
        command = ["run", workflow, "--cluster", "inline", "--backend", "cpu", "--cache", cache, "--quiet"]
        for title in ("first run", "run that finds everything"):
            entered = entered_by(command)
            ours = {file: names for file, names in entered.items() if file.startswith("pipeline/")}
            functions = sum(len(names) for names in entered.values())
            print(f"{title}: {functions} functions in {len(entered)} files; of pipeline/ {len(ours)} files")
            print("  " + ", ".join(f"{room} {count}" for room, count in rooms(ours).most_common()))
            for file, names in sorted(ours.items()):
                print(f"  {file:45} {len(names):3} functions")


if __name__ == "__main__":
    main()
