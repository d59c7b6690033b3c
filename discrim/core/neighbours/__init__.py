"""Nearest rows and their votes."""
