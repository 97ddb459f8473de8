"""Cures: the smallest additions to the declarations of streams that make a query safe."""
