"""What `tests.forked` runs is what a Python of its own would be, as far as a program can tell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked

TELL = """
import os, sys
mask = os.umask(0)
print(sys.argv, sys.path, os.getcwd(), mask, __name__, os.environ.get("TOLD"), sys.dont_write_bytecode)
print(sys.stdin.read(), "gravel" in sys.modules, "tests" in sys.modules)
"""


@pytest.mark.parametrize(
    "words",
    [
        ("-c", TELL, "one", "two"),
        ("-m", "told", "one"),
        ("-c", "raise SystemExit(3)"),
        ("-c", "import sys; sys.exit('no')"),
        ("-c", "1 / 0"),
        ("-c", "import os; os.kill(os.getpid(), 9)"),
        ("-c", "import atexit; atexit.register(print, 'at the end')"),
    ],
    ids=lambda words: " ".join(words).strip().split("\n")[0],
)
def test_it_is_like_a_process_of_its_own(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "told.py").write_text(TELL)
    variables = {"TOLD": "so", "PYTHONPATH": "/a:/b", "PYTHONDONTWRITEBYTECODE": "1"}
    environment = {**os.environ, **variables}
    expected = subprocess.run(
        [sys.executable, *words],
        cwd=tmp_path,
        env=environment,
        umask=0o027,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    found = forked.run(words, cwd=tmp_path, env=environment, umask=0o027)
    assert (found.returncode, found.stdout) == (expected.returncode, expected.stdout)
    assert found.stderr.splitlines()[-1:] == expected.stderr.splitlines()[-1:]


def test_settings_that_are_read_at_the_start_are_read(tmp_path: Path) -> None:
    code = "import numba; print(numba.config.OPT)"
    for level in ("0", "2"):
        done = forked.run(["-c", code], cwd=tmp_path, env={**os.environ, "NUMBA_OPT": level})
        assert f"{level}\n" in done.stdout.replace("_OptLevel(", "").replace(")", ""), done
