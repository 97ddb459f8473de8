"""EXPLAIN: the network as text, JSON, DOT and a picture, and the story of one query."""
