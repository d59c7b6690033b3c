"""Kernels of rows: least squares on them, and features whose products they are."""
