"""Where streams enter the network: negative tuples find what they delete."""
