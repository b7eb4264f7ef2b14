"""Cached plans: what a run or a plan that found everything cached was made from, and what it found.

The same command, asked again, answers from it without planning anew, if all that planning read is as it was
and every result is there. It is a memo like the digests of files: never needed, safe to delete. The files lie
in the cache's folder `frozen`, whose name stays so that caches of today answer at once.

- `gravel.pipeline.core.trace` notes what planning reads: texts, files, memos; or a doubt, and then no plan is
  kept.
- `environment` is all else that an answer depends on: the request, code, packages, interpreter, machine.
- `entries` writes and reads cached plans, and compares.
- `lookup` finds every result as the planner and the scheduler do.
- `gravel.pipeline.scheduler.cached_run` and `cached_plan` answer `gravel run` and `gravel plan`.

Whatever does not fit, or cannot be known, has the command planned in full.
"""
