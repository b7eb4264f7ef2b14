"""Workflows at set times: jobs on record in the cache, passes that start what is due, one process a run.

On disk, below the cache's root (times are UTC, `NAME` is the job's):

- `schedules/NAME/job.json`: what `gravel schedule add` was given. Of the hooks, which are commands, only the
  events; the hooks themselves lie in the user's own configuration.
- `schedules/NAME/state.json`: up to when due times are decided, which one waits, which claim is open.
- `schedules/NAME/claims/DUE.ATTEMPT.json`: the claim on a due time, made before its run starts and with the
  outcome after; beside it the run's log.
- `leases/schedule-NAME.lock`: held by the process of a run for as long as it lives.

A *pass* (`gravel schedule tick`; `gravel schedule run` makes one after another) decides which due time is
to be run and starts a process for it, which it holds to its time limit. The *process of a run* takes the
job's lease, makes the claim, is `gravel run`, writes the outcome and calls the hooks. Passes that are
killed change nothing for it. If the process dies itself, it leaves an open claim and a free lease: the next
pass starts another one, which closes the claim by the run's record, calls the hooks that are owed, and runs
a due time again whose run was lost.

A due time is run at most once: `state.json` changes under the job's lock, and a claim is a file that only one
process can create, on a local disk and over NFS, even where nothing can be locked.
"""
