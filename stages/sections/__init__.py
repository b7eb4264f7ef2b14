"""Sections of reports: a file for each, which declares itself; see `section`."""
