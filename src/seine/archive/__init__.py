"""Finite streams, read whole: the exact results of a join, and the offline optimum of a memory limit."""
