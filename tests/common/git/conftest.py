"""A pull request on a GitHub of its own, and our own copy of its repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from amends.common.git import Remote, Repositories, Repository
from tests.support.github import Scene


@pytest.fixture
def remote(scene: Scene) -> Remote:
    return Remote(scene.repo.clone_url, scene.double.token("octocat"))


@pytest.fixture
def ours(scene: Scene, tmp_path: Path) -> Repository:
    return Repositories(tmp_path / "git").of(scene.repo.id)
