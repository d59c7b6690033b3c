"""The kinds of covariance: of a scatter, shrunk, of few factors, robust, of incomplete rows."""
