"""Workflow files: read, checked and located. See `gravel.pipeline.workflow.loader`."""
