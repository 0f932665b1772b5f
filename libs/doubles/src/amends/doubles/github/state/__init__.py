"""What the pretended GitHub knows. No rules, no HTTP: those live beside it.

Things know each other, so none of them has a `repr` that would tell of all the others: it would never end.
"""
