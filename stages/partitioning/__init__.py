"""The parts of the `partition` stage: counting, distributing and writing, range by range."""
