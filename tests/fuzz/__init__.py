"""Fuzzers: hostile formulas, files and tables, of which only the package's own errors may come.

Each takes the fixture ``fuzz`` of :mod:`tests.fuzz.session`. What a fuzzer finds becomes a case of the tests
of what it was found in.
"""
