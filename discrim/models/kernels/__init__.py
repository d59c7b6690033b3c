"""Discriminant analysis by kernels of the rows: verbs, results, summaries and pictures."""
