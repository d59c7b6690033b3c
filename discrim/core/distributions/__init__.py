"""A known law of class and row: its densities, integrals, and least risk."""
