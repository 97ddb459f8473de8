"""The shared network, in which very many queries are one dataflow graph: adding and removing queries.

`network.py` has the network and its versions (`network_record.py`: as files keep them); `query_delivery.py`
makes the plan as which a query runs, and `build.py` turns it into nodes (physical planning). The packages:

- `plan/`: what a plan is prepared to before nodes are placed;
- `site/`: the memo of all nodes, by signature and with reference counts;
- `joins/`, `groups/`: finding or building joins, and aggregates and set operators;
- `show/`: EXPLAIN.
"""
