"""Processes that kill themselves once, where a function is called: for tests of workers that are lost.

    environment |= killed_once("gravel.kernels.partition.rank_search:RankSearch.commit", folder)

Every process that a run starts reads the variables.
"""

from __future__ import annotations

import os
from pathlib import Path

HOOK = """
import importlib.abc, importlib.util, os, signal, sys
module, _, path = os.environ["KILLED_AT"].partition(":")

class Hook(importlib.abc.MetaPathFinder):
    def find_spec(self, name, where, target=None):
        if name != module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def loaded(made):
            execute(made)
            *outer, last = path.split(".")
            owner = made
            for each in outer:
                owner = getattr(owner, each)
            called = getattr(owner, last)

            def dies(*given, **named):
                try:
                    os.close(os.open(os.environ["KILLED_MARK"], os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    return called(*given, **named)
                os.kill(os.getpid(), signal.SIGKILL)

            setattr(owner, last, dies)

        spec.loader.exec_module = loaded
        return spec

sys.meta_path.insert(0, Hook())
"""


def killed_once(place: str, folder: Path) -> dict[str, str]:
    """Return the variables by which the first process that calls `module:name` is killed there."""
    (folder / "hook").mkdir()
    (folder / "hook" / "sitecustomize.py").write_text(HOOK)
    paths = [str(folder / "hook"), os.environ.get("PYTHONPATH", "")]
    return {
        "KILLED_AT": place,
        "KILLED_MARK": str(folder / "killed"),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
