"""Placing keyword searches: the tables that they are over, and each search as a row."""
