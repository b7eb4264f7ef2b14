"""The steps of `reorder`: where an order is found, finding it, and making the new rows."""
