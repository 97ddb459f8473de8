"""Joins of streams, directly or through relations, in one operator."""
