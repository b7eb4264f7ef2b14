"""What a report says of artifacts: a file for each section, which declares itself; see `section`."""
