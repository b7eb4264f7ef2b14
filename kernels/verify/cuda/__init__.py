"""The verifiers on a GPU: many searches in one pass over the rows.

They find what `gravel.kernels.verify.check_bfs` and `check_components` find, with the same names, counts
and offenders, and share no code with the searches that they check (`tests/kernels/verify/test_verify.py`).
CuPy is imported by functions only; `gravel.kernels.verify.cuda.memory` needs none.
"""
