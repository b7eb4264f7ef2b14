"""Plugin files as modules: imported under names of their own, from texts that can travel to workers.

The name of the module says path and content, so that two versions of a file, or two files of one name, never
meet. Whatever is pickled in one process by such a name is found in another that holds the same sources.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from blake3 import blake3

PREFIX = "gravel_plugin_"

MAX_BYTES = 1 << 20
"""A stage is some hundred lines; anything longer is no Python file that somebody wrote."""

SOURCES: dict[str, PluginSource] = {}
"""The plugin files that this process knows, by the name of their module."""


@dataclass(frozen=True)
class PluginSource:
    """A plugin file: where it lay, and what it held when it was read."""

    path: str
    text: bytes

    @property
    def module(self) -> str:
        """The name of its module."""
        stem = re.sub(r"\W", "_", Path(self.path).stem)
        mark = blake3(self.path.encode("utf-8", "surrogatepass") + b"\0" + self.text).hexdigest()[:16]
        return f"{PREFIX}{stem}_{mark}"


class _Importer:
    """Python asks it for modules that no folder has. (`importlib.abc` takes 20 ms to load.)"""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        loader: Any = self
        return ModuleSpec(fullname, loader, origin=SOURCES[fullname].path) if fullname in SOURCES else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Take Python's own kind of module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the text under the name of a file that holds it, for tracebacks and Numba's cache."""
        source = SOURCES[module.__name__]
        module.__file__ = _file_with(source)
        exec(compile(source.text, module.__file__, "exec", dont_inherit=True), module.__dict__)


def _file_with(source: PluginSource) -> str:
    """Return the plugin's path if it holds the same text here, else that of a copy."""
    path = Path(source.path)
    try:
        if path.read_bytes() == source.text:
            return source.path
        import atexit
        import shutil
        import tempfile

        folder = tempfile.mkdtemp(prefix=PREFIX)
        atexit.register(shutil.rmtree, folder, True)
        copy = Path(folder) / path.name
        copy.write_bytes(source.text)
    except OSError:
        return source.path
    return str(copy)


def add_sources(sources: Mapping[str, PluginSource]) -> None:
    """Let this process import these modules."""
    SOURCES.update(sources)
    if not any(isinstance(finder, _Importer) for finder in sys.meta_path):
        sys.meta_path.append(_Importer())


def read_source(path: Path) -> PluginSource:
    """Read a plugin file; raises OSError, and ValueError for one that is too long."""
    text = path.read_bytes()
    if len(text) > MAX_BYTES:
        raise ValueError(f"it has {len(text):,} bytes, and a plugin has at most {MAX_BYTES:,}")
    return PluginSource(str(path.absolute()), text)


def import_source(source: PluginSource) -> Any:
    """Import a plugin file, or return its module if this very text is imported; raises what it raises."""
    add_sources({source.module: source})
    return importlib.import_module(source.module)
