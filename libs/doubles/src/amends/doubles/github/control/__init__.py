"""How tests and the demo drive the double: people act, things go wrong, and what happened can be read."""
