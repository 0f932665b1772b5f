"""What more than one module of these asks for."""

from pathlib import Path

import pytest

from amends.doubles.model import ModelDouble
from tests.support.book import Book
from tests.support.commanding import Place
from tests.support.github import Scene


@pytest.fixture
def commanded(sqlite_book: Book, scene: Scene, tmp_path: Path, double: ModelDouble) -> Place:
    """A pull request that an agent of the command line is to work on."""
    return Place(sqlite_book, scene, tmp_path, double)
