"""What several tests share: where the project, expected values and real tables lie."""

from __future__ import annotations

from pathlib import Path

__all__ = ["GOLDEN", "ROOT", "TABLES"]

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
"""Values from outside the code, each beside the script that wrote it."""

TABLES = ROOT.parent / "shared" / "data"
"""Real tables beside the project; a test that wants one is skipped where it is missing."""
