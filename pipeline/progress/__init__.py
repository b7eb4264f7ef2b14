"""What a run shows while it goes: a live table, plain lines, JSON events or nothing."""
