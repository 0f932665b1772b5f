"""A GitHub of somebody else's making, npm's emulate: what it lacks is said before anything is begun on it."""

from __future__ import annotations

from pydantic import SecretStr

from amends.cli.forge import forge
from amends.common.policy import Overrides
from amends.common.sections import Fetcher, GitHub
from amends.common.settings import Settings
from tests.support.emulate import emulated_github

SEED = """
tokens:
  tok_robot: { login: robot, id: 3, scopes: [repo] }
github:
  users:
    - { login: robot, name: Robot, email: robot@x.test }
  repos:
    - { owner: robot, name: shop, auto_init: true }
"""


def test_a_github_without_graphql_and_git_is_known_and_what_it_lacks_is_named() -> None:
    with emulated_github(SEED) as url:
        github = GitHub(api_url=url, token=SecretStr("tok_robot"))
        known = Settings(github=github, fetcher=Fetcher(mode="poll"), policy=Overrides())
        found = {check.name: check for check in forge(known, ["robot/shop"])}
    assert (found["github"].found, found["repository"].found) == (
        f"token of robot at {url}",
        "robot/shop: robot may push",
    )
    assert (
        found["reading"].found
        == f"robot/shop: there is no GraphQL API at {url}/graphql, and amends needs it: see github.graphql_url"
    )
    assert (found["cloning"].status, f"git cannot read {url}/robot/shop.git" in found["cloning"].found) == (
        "fail",
        True,
    )
