"""Placing streams and joins: which exist already, which are built, and which punctuations reach them."""
