"""A mutation run: the code changed in one place at a time, and whether a test notices.

``python -m tests.mutation --seed 0 --count 200`` is the command; `__main__` says what it does.
"""
