"""Part of every build: `gravel` must hold its packages and docs, which an archive without links loses."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Links(BuildHookInterface):  # type: ignore[type-arg]
    """Stops a build that would make a package without its code."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Look for the packages; raises SystemExit with a sentence."""
        folder = Path(self.root) / "gravel"
        for name in ("pipeline", "stages", "kernels", "docs"):
            if not any((folder / name / file).is_file() for file in ("__init__.py", "README.md")):
                raise SystemExit(
                    f"gravel cannot be built: gravel/{name} should be a link to ../{name}, and this copy of "
                    "the tree has lost its links (zip archives do). Take a clone, a tar archive or an sdist."
                )
