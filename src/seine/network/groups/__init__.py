"""Placing pipeline breakers: aggregates and set operators, with what feeds and what purges them."""
