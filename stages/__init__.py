"""One module per stage: what goes in, what comes out, its parameters. Knows no cache, Dask or CLI."""
