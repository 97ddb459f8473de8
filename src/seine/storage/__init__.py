"""What a pipeline keeps: immutable objects by name, and a log, registers and a lease built on them."""
