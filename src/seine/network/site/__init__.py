"""What stands and who claims it: nodes, tables and tags, found by signature."""
