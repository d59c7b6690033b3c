"""The command line: a formula and a table in, a summary out; a saved fit and a table in, labels out.

``discrim lda "species ~ ." iris`` prints what ``discrim.lda("species ~ .", data=iris).summary()`` prints.
What a person gets wrong is one line on standard error and exit status 2, never a traceback; a warning is a
line there too, so standard output carries the summary alone.
"""

from __future__ import annotations

from discrim.cli.command import main

__all__ = ["main"]
