"""Comparison of all results of two checkouts to the last bit.

`__main__` records digests of the results, `cases` lists the fits. Nothing here is a golden value. Only public
names are used, so that it runs on any checkout of the package.
"""
