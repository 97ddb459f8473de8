"""Soak: a service runs for hours, everything about it changes, and its answers are checked throughout.

__main__ ── Soak ─┬─ ServiceProcess   `seine serve` on Spark; a supervisor that starts it again
                  ├─ Feeds            files and a topic that go on; they know what of it is admitted
                  ├─ Truth            DuckDB over the admitted rows
                  ├─ StandingQuery    a query, how far it was checked, and what it said wrongly
                  ├─ Changes          what happens at random, from a seed
                  ├─ Samples          memory, disk, CPU time and waits
                  └─ soak_report      tables, and whether figures are flat

`make soak` runs it; it is no part of `make test-all`.
"""
