"""`amends reconcile`: somebody has to be there who can look."""

from pathlib import Path

from tests.support.command import ran, up


def test_without_github_it_says_who_is_missing(tmp_path: Path) -> None:
    with up(tmp_path / "data") as directory:
        done = ran("reconcile", "--data-dir", str(directory))
        assert done.returncode == 3
        assert "no comment-fetcher answers" in done.stderr
