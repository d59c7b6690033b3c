"""Kernel discriminant analysis: kernels, ridge regression on them, and approximate feature maps."""
