"""The Bayes classifier of a known law."""
