"""The tables of the catalog: their schema, and what rows stand for."""
