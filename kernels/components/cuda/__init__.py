"""Connected components on CUDA."""
