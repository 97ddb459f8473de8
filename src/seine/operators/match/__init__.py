"""Rows against very many conditions of one shape at once: prefilters, selections and their indexes."""
