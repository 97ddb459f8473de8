"""Streams that are over, read whole: what a query would have reported with memory for everything."""
