"""The engines of MMQJP as arrays: query templates, views and the view cache, and one query after another."""
