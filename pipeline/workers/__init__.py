"""Where stages run. Every kind of cluster offers the same few verbs to the scheduler: see `protocol`.

The scheduler assigns each stage run to a worker slot; the cluster answers with events in a queue. Nothing
here imports Dask until a cluster starts.
"""
