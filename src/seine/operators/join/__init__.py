"""Joins of two inputs, lookups in relations, and the purging of their state by punctuations."""
