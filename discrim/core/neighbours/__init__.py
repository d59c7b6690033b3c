"""Nearest neighbours and kernel densities of several columns."""
