"""Least squares of class indicators on kernels of the rows."""
