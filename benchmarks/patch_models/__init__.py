"""Are other models of a patch better than Gaussians? Kernels, mixtures, generalised Gaussians.

Four of the five papers name them as future work. :mod:`benchmarks.patch_models.models` has the
models, ``python -m benchmarks.patch_models`` compares them with Gaussians.
"""
