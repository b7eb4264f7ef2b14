"""Batches: the data sets of a workflow's section `datasets`, their downloads, status and changes.

The section itself, and catalogue files, are read by `pipeline.workflow.datasets` and
`pipeline.workflow.catalogue`. `downloads` keeps files from the web under the cache, `summary` says how each
data set of a run fared, `changes` which files came and went since the last run.
"""
