"""The state kinds of aggregates, and how calls are made of them."""
