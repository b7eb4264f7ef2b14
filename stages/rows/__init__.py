"""Rows of stored graphs: read, decoded, cut into ranges, and brought to a device."""
