"""Connected components on the CPU."""
