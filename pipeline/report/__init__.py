"""The page that a run ends with: what ran on what, and the sections of its report stages.

`write_run_report` makes `report.html` and `report.json` in the run's folder from its record and the cache
alone, so a report can be made again at any time without running anything.
"""

from __future__ import annotations

from gravel.pipeline.report.page import write_run_report
from gravel.pipeline.report.place import find_page

__all__ = ["find_page", "write_run_report"]
