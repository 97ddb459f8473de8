"""Vectorised expression evaluation: scalar expressions over the columns of a batch."""
