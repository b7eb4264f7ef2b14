"""The files that workflows read: their digests, and what was downloaded of those on the web.

The section `datasets` of a workflow, and catalogue files, are read by `gravel.pipeline.workflow.datasets` and
`gravel.pipeline.workflow.catalogue`.
"""
