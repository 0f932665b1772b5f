"""What the comment-fetcher's tests are given."""

from tests.support.book import book, sqlite_books
from tests.support.fetching import scene

__all__ = ["book", "scene", "sqlite_books"]
