"""What queries share: what makes two nodes one, and how much of that is done."""
