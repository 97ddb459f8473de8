"""What a script means, computed the slow and obvious way; it shares no code with the product."""
