"""Parts of `verify`: where the checks run, what they take, and the checks of searches and of components."""
