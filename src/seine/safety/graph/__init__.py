"""The punctuation graph of a block of joins: how it is built, closed and contracted, and what it purges."""
