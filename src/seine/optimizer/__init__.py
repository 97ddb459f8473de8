"""Logical plan to better logical plan: `pipeline.optimise` lists the rules in their order."""
