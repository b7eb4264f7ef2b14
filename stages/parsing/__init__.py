"""Parts that readers of text formats share: the head of a file, pairs, lists, and their faults."""
