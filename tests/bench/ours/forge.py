"""Where the feedback is: the double of GitHub with one large pull request, in a process of its own.

python -m tests.bench.ours.forge 0.03
"""

from __future__ import annotations

import json
import sys

from tests.support.github import Crowd, crowd, github, set_scene

CROWD = Crowd(inline=250, reviews=40, talk=120)


def main() -> None:
    """Say where it is; then answer every line with how many requests there were so far."""
    with github() as double:
        scene = set_scene(double)
        double.clock.advance(-3_600)
        pull = crowd(scene.repo, CROWD)
        double.clock.advance(3_600)
        double.latency = float(sys.argv[1])
        where = {
            "api": double.api_url, "graphql": double.graphql_url, "app": str(scene.app.id), "pem": scene.app.pem,
            "token": double.token("octocat"), "repo": scene.repo.id, "name": scene.repo.name, "number": pull.number,
        }  # fmt: skip
        print(json.dumps(where), flush=True)
        for _ in sys.stdin:
            print(double.requests.count(), flush=True)


if __name__ == "__main__":
    main()
