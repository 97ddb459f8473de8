"""What a plan comes to before nodes are placed: blocks, conditions, the form of records, strategies."""
