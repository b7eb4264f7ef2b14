"""Stages that are not gravel's own: from files that a workflow names, and from installed packages.

A workflow names files in its section `plugins:`; `gravel.pipeline.workflow.plugins` imports them and adds
their stages to those known. A package declares `NAME = "module:STAGE"` under the entry point `gravel.stages`;
`packages.known_stages` is the catalogue of gravel's stages and those. Both are checked alike and carry the
digest of their code (`code`), which is part of every recipe, so that an edit runs the stage again. Workers
import the files, too (`files`); `conformance` has the checks of a suite of tests that an author runs.
"""
