"""A network version at work in a task: rows pushed through stateless nodes, routed, and stages stepped."""
