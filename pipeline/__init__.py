"""Workflow file -> plan -> cached runs on Dask. Knows no graph algorithm."""
