"""Freeing space in a cache: what no kept run reaches, and what is left of memos and locks."""
