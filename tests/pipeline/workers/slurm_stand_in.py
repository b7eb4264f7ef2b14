"""Commands of Slurm that start a job as a process of this machine, and say what a test has them say."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

SBATCH = """\
#!/bin/bash
if [ -e "$SLURM_STAND_IN/refuse" ]; then cat "$SLURM_STAND_IN/refuse" >&2; exit 1; fi
exec 9> "$SLURM_STAND_IN/lock"
flock 9
number=$(( $(ls "$SLURM_STAND_IN/jobs" | wc -l) + 1 ))
cp "${@: -1}" "$SLURM_STAND_IN/jobs/$number"
if [ ! -e "$SLURM_STAND_IN/hold" ]; then
  err=$(sed -n "s/^#SBATCH -e //p" "${@: -1}" | sed "s/%J/$number/")
  setsid bash "$SLURM_STAND_IN/jobs/$number" > /dev/null 2> "$err" < /dev/null 9>&- &
  echo $! > "$SLURM_STAND_IN/running/$number"
fi
echo "Submitted batch job $number"
"""

SQUEUE = """\
#!/bin/bash
[ -e "$SLURM_STAND_IN/hold" ] && { echo "PENDING (Resources)" | tr -d "()"; exit 0; }
for file in "$SLURM_STAND_IN"/running/*; do
  [ -e "$file" ] && kill -0 "$(cat "$file")" 2> /dev/null && echo "RUNNING None"
done
exit 0
"""

SCANCEL = """\
#!/bin/bash
echo "$1" >> "$SLURM_STAND_IN/cancelled"
[ -e "$SLURM_STAND_IN/running/$1" ] && kill -KILL -- "-$(cat "$SLURM_STAND_IN/running/$1")" 2> /dev/null
rm -f "$SLURM_STAND_IN/running/$1"
exit 0
"""


class SlurmStandIn:
    """Its commands in a folder, and what it was asked for; `variables` put it on the path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("bin", "jobs", "running"):
            (folder / name).mkdir(parents=True)
        for name, text in (("sbatch", SBATCH), ("squeue", SQUEUE), ("scancel", SCANCEL)):
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)
        checkout = str(Path(__file__).resolve().parents[3])
        self.variables = {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "SLURM_STAND_IN": str(folder),
            "PYTHONPATH": checkout,
        }

    @property
    def scripts(self) -> list[str]:
        """The scripts of all jobs that were submitted."""
        return [path.read_text() for path in sorted((self.folder / "jobs").iterdir())]

    @property
    def living(self) -> list[int]:
        """The leaders of jobs whose processes live."""
        found = []
        for path in (self.folder / "running").iterdir():
            done = subprocess.run(
                ["pgrep", "-g", path.read_text().strip()], stdout=subprocess.PIPE, check=False
            )
            found += [int(path.read_text())] if done.stdout else []
        return found

    def kill(self, number: int) -> None:
        """Have a job die with all of its processes."""
        with suppress(ProcessLookupError):
            os.killpg(int((self.folder / "running" / str(number)).read_text()), signal.SIGKILL)
