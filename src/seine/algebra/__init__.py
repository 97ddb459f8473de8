"""The logical algebra: types, scalar expressions, definitions of streams and relations, query plans."""
