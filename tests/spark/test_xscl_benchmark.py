"""The part of `make bench NAME=xscl` that runs on Spark: it has every table, and two records an item."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks.__main__ import main

from benchmarks.xscl import xscl_page

pytestmark = [pytest.mark.spark, pytest.mark.long]


def test_subscriptions_run_end_to_end(tmp_path: Path) -> None:
    assert main(["xscl", "--quick", "--only", "spark", "--out", str(tmp_path / "page.md")]) == 0
    text = (tmp_path / "page.md").read_text()
    assert text.count("\n| -") == sum(part == "spark" for part, *_ in xscl_page.TABLES)
    records = re.findall(r"\| (\d\.\d\d) +\| \d\.\d\dx", text)
    assert len(records) == 3
    assert all(1.5 < float(count) < 3.5 for count in records)
