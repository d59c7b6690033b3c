"""Moments of tables: addition, subtraction, files, published statistics, and the input of verbs."""
