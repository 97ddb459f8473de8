"""The safety check: whether the state of a query stays bounded, and which declarations would make it so.

`verdict.py` judges a query by the states of its operators (`operator_states.py`), each by the punctuation
graph of a block (`build_graph.py` makes it, `punctuation_graph.py` and `purgeable.py` search it). `cures.py`
finds the smallest additions that make a query safe. What a join or a group may purge is decided in
`joined_streams.py`, `join_trees.py`, `safe_plans.py` and `final_groups.py`; the builder of the network asks.
"""
