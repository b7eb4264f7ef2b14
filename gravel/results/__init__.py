"""Results of searches, measures and runs, under the caller's ids."""
