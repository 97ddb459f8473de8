"""What queries can share: finding in the network the node that a candidate equals."""
