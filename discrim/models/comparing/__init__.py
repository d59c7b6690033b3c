"""Verbs over fits: side by side, tested, chosen, cross-validated."""
