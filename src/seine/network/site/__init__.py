"""The memo of the network: all nodes, parameter tables and tags, by signature, with reference counts."""
