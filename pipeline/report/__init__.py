"""The page that a run ends with: what ran on what, and the sections of its report stages.

`write_run_report` makes `report.html` and `report.json` in the run's folder from its record and the cache
alone, so a report can be made again at any time without running anything.
"""
