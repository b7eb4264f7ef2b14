"""From a workflow to stage runs, their recipes, what they need, and what will happen to each."""
