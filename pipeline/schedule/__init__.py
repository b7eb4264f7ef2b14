"""Workflows at set times: jobs on record in the cache, a service that starts them, one supervisor per run.

On disk, below the cache's root (times are UTC, `NAME` is the job's):

- `schedules/NAME/job.json`: what `gravel schedule add` was given, but for the hooks: those are commands,
  and lie in the user's own configuration (`gravel.pipeline.schedule.hooks`). Only the events with one
  change.
- `schedules/NAME/state.json`: up to when due times are decided, which wait, which claim is open.
- `schedules/NAME/claims/DUE.ATTEMPT.json`: the claim on a due time, made before its run starts and with the
  outcome after; beside it the run's log.
- `leases/schedule-NAME.lock`: held for as long as a run of the job lives.

Three kinds of process. The *service* (`gravel schedule run`, or one pass of it, `tick`) decides which due
times are to be run and starts supervisors. A *supervisor* takes the job's lease, makes the claim, carries out
one run as a child, holds it to its time limit, writes the outcome and calls the hooks. It does not need the
service any more, so a service that is killed loses nothing. The *run* is `gravel run`, with the cache and
the record of any other.

A due time is run at most once: `state.json` changes under the job's lock, and a claim is a file that only
one process can create, on a local disk and over NFS, even where nothing can be locked. A supervisor that dies
leaves an open claim and a free lease; the next supervisor records the run as lost and, if the job catches up,
runs its due time again.
"""
