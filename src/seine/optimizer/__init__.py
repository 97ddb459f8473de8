"""The optimiser of logical plans: `optimise.py` lists its rules, `block.py` splits a plan into blocks."""
