"""Nexmark: every query against DuckDB, alone and together."""
