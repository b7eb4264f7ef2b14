"""Compiled CPU kernels on disk, under the content of everything that was compiled into them.

- `contents` digests what a function is compiled from: modules as they are loaded, and their source files.
- `toolchain` names what compiles it: Numba, LLVM, Python, NumPy, the processor, settings.
- `folder` keeps the entries where nobody else may write; `gravel cache gc` collects them.
- `cache` is what Numba's dispatchers ask.

The folder is `GRAVEL_COMPILED`, else `$XDG_CACHE_HOME/gravel/compiled`, else `~/.cache/gravel/compiled`. It
belongs to the user and not to a cache of results, since loading an entry runs its code.
"""
