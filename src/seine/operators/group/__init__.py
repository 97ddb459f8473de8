"""Operators that keep results by group: aggregates, DISTINCT, EXCEPT, changelogs, final results."""
