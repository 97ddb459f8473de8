"""Joins of two inputs, lookups in relations, and what punctuations let them forget."""
