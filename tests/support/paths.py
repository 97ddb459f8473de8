"""Where things lie: the repository, and the conformance kit if it is beside it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFORMANCE = ROOT.parent / "shared" / "conformance"
AREAS = ("relational", "safety", "sharing", "keyword", "xscl", "star")  # of the kit, those that are built
