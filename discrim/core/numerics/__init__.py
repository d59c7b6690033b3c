"""Numerical tools that do not depend on the models: arrays, memory, progress, threads and files."""
