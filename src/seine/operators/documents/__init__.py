"""Joins of XML documents by tree patterns: witnesses, candidates of all queries at once, exact bindings."""
