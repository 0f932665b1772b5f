"""Fixtures that tests ask for by name; they live in tests/support."""

# In the order in which they import each other.
pytest_plugins = [
    "tests.support.nats",
    "tests.support.postgres",
    "tests.support.logs",
    "tests.support.book",
    "tests.support.fetching",
    "tests.support.model",
]
