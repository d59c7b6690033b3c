"""Planes between classes: whether there is one, and which."""
