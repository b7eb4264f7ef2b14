"""Compiled CPU kernels on disk, under the content of everything that was compiled into them.

- `contents` digests what a function is compiled from: the functions and constants that its code names.
- `folder` keeps the entries where nobody else may write; `gravel cache gc` collects them.
- `cache` is what Numba's dispatchers ask: also under what compiles, and waiting for who compiles it already.

One digest of the package would be simpler. But two searches, 29 kernels, compile in 8.1 s of processor time:
an edit of a decoder compiles 10 of them again in 3.9 s, and one of another room none.

The folder is `GRAVEL_COMPILED`, else `$XDG_CACHE_HOME/gravel/compiled`, else `~/.cache/gravel/compiled`. It
belongs to the user and not to a cache of results, since loading an entry runs its code.
"""
