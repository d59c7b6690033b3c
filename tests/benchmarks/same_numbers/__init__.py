"""The same numbers before and after: `__main__` records what every verb gives, `cases` says of which fits.

Nothing here is a golden value. Of two checkouts that should agree to the last bit it says where they do not.
Only public names are asked for, so that it runs on any checkout of the package.
"""
