"""Runs on record: `runs/<run>/run.json` beside the cache, the stages' logs, and what reads them."""
