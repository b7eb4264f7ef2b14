"""Liu et al., FlexBFS, PPoPP 2012 (poster)."""
