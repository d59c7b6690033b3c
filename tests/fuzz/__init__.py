"""Fuzzers: hostile formulas, files and tables, which may only raise errors of the package.

Each fuzzer uses the fixture ``fuzz`` of :mod:`tests.fuzz.session`. A bug that a fuzzer finds becomes a
regression test of the module that has it.
"""
