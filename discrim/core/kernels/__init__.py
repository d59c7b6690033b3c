"""Kernels, and the features whose products they are."""
