"""Multi-way window joins: three inputs or more at once, purged by the punctuations of all of them."""
