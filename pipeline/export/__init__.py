"""Results as files for other programs, under the ids that the input uses."""
