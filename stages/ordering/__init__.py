"""What `reorder` does step by step: where an order is found, finding it, and making the new rows."""
