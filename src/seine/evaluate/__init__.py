"""Expressions computed over columns, all rows of a batch at once."""
