"""Sides of a comparison: the systems under test, each fed with a workload and measured."""
