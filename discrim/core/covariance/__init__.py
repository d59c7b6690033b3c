"""Covariances in factored form, and their axes."""
