"""Rewrite rules, one a file: pure functions from plan to equivalent plan."""
