"""SEARCH: keyword queries."""
