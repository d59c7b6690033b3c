"""Numbers of models of normal classes."""
