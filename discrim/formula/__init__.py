"""Formulas: grammar, transforms, factors and response, from text to a Design."""
