"""Keyword search: which terms a tuple has, and the trees of joined tuples that contain all terms of a
query.
"""
