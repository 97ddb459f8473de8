"""Preparation of a plan before nodes are placed: conditions, star joins, record formats, births."""
