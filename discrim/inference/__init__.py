"""Tests and error rates, from moments and scores; no model is imported here."""
