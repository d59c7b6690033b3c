"""Means and scatters that wild rows do not move."""
