"""What the pretended GitHub knows. No rules, no HTTP: those live beside it."""
