"""Joins of three inputs or more at once, purged by what all of them punctuate together."""
