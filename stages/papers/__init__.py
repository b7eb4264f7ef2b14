"""Code that serves the reproduction of one paper alone; gravel runs without this folder."""
