"""The cache on disk: recipes lead to artifact ids, ids lead to Zarr groups.

`Cache` and what it answers from records import neither NumPy nor Zarr; opening and writing arrays do.
"""

from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.location import find_cache
from gravel.pipeline.store.records import ArtifactRecord, RecipeRecord

__all__ = ["ArtifactRecord", "Cache", "RecipeRecord", "find_cache"]
