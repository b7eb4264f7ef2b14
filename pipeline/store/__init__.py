"""The cache on disk: recipes lead to artifact ids, ids lead to Zarr groups.

What is answered from records imports neither NumPy nor Zarr; opening and writing arrays do.
"""
