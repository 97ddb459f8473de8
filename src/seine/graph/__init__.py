"""The network as data: nodes, parameter tables, their JSON, and versions."""
