"""What one pass over the rows adds up: counts, means and scatters of classes."""
