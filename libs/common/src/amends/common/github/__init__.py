"""Everything that knows GitHub: its objects as we read them, what they say, and the client that asks."""
