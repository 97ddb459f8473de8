"""The admissions, data of another shape."""

from __future__ import annotations

from itertools import pairwise

import duckdb
import pyarrow.compute as pc
from benchmarks.workloads.admissions import make_admissions


def test_admissions_have_patients_who_come_back() -> None:
    table = make_admissions(4_000)
    assert table == make_admissions(4_000)
    database = duckdb.connect()
    database.register("admission", table)
    again = database.execute(
        "SELECT COUNT(*) FROM admission a, admission b WHERE a.patient = b.patient AND b.ts > a.ts "
        "AND b.ts <= a.ts + INTERVAL 30 DAY"
    ).fetchone()
    assert again is not None and again[0] > 800
    means = database.execute(
        "SELECT AVG(charge) FROM admission GROUP BY severity ORDER BY severity"
    ).fetchall()
    assert [a[0] * 2 < b[0] for a, b in pairwise(means)] == [True] * 3
    assert pc.count_distinct(table["hospital"]).as_py() == 80
