"""Verbs, results and predictions, one package per family of models."""
