"""`amends demo`: the whole loop before your eyes, on a GitHub of its own."""
