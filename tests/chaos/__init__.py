"""Chaos: a served folder among random good and bad neighbours, and its good queries notice only waits.

test_chaos ── Scene ─┬─ ServiceProcess    `seine serve` on Spark; a supervisor that starts it again
                     ├─ GoodNeighbours    writes two streams, knows every line: the truth
                     ├─ WaitWatch         tails over HTTP: when is which line readable?
                     └─ ChaosReport       who struck when, and the longest wait meanwhile
Nuisance.strike(scene), Nuisance.mend(scene)
    bad_sources  bad_queries  killings  full_disk  rotations  rude_clients  idle_hours
"""
