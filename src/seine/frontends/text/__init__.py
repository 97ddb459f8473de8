"""Lexical analysis: script text with positions, tokens, the token cursor, names and units of time."""
