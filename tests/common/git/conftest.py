"""A pull request on a GitHub of its own, and our own copy of its repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from amends.common.git import Remote, Repositories, Repository
from tests.support.github import Scene, github, set_scene


@pytest.fixture
def scene() -> Iterator[Scene]:
    with github() as double:
        yield set_scene(double)


@pytest.fixture
def remote(scene: Scene) -> Remote:
    return Remote(scene.repo.clone_url, scene.double.token("octocat"))


@pytest.fixture
def ours(scene: Scene, tmp_path: Path) -> Repository:
    return Repositories(tmp_path / "git").of(scene.repo.id)
