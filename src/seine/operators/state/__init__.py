"""Operator state: the store an operator is given, and the data structures it keeps in it."""
