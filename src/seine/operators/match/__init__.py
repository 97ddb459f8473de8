"""Predicate indexes: rows matched against very many selections of one shape at once."""
