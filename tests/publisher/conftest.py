"""A pull request on a GitHub of its own, and an empty book."""

from tests.support.fetching import scene, sqlite_book

__all__ = ["scene", "sqlite_book"]
