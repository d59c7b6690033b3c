"""Mutation testing: change the code in one place at a time and check whether a test fails.

The command is ``python -m tests.mutation --seed 0 --count 200``; see `__main__`.
"""
