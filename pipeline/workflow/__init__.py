"""Workflow files: read, checked and located. See `load_workflow`."""

from gravel.pipeline.workflow.loading import load_workflow
from gravel.pipeline.workflow.model import EntryOutput, StageEntry, Variant, Workflow

__all__ = ["EntryOutput", "StageEntry", "Variant", "Workflow", "load_workflow"]
