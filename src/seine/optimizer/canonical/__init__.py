"""Predicates that mean the same get the same form."""
