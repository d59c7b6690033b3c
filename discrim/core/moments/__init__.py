"""Moments that one pass over the rows accumulates: counts, means and scatters of classes."""
