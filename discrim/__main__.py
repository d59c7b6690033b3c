"""``python -m discrim``: the command line without the console script."""

from __future__ import annotations

from discrim.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
