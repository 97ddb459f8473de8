"""Placing queries of documents: witnesses, joins of streams of documents, forms, publications."""
