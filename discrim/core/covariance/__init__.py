"""Covariance models: full, shrunk, factor-analytic, robust, and estimated from incomplete rows."""
