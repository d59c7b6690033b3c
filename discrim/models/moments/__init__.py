"""Moments of tables: sums and differences of them, files, published statistics, what a verb fits to."""
