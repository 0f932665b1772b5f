"""Which routes are visited, by whom, with what, and what they have to answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from amends.doubles.github import GitHubDouble
from amends.doubles.github.control.pulls import PullHandle
from tests.doubles.client import Api


@dataclass(frozen=True)
class Guest:
    """Everybody who asks."""

    by: Mapping[str, Api]


@dataclass(frozen=True)
class Visit:
    line: str
    body: object = None
    status: int = 200
    by: str = "octocat"

    @property
    def method(self) -> str:
        return self.line.partition(" ")[0]

    @property
    def path(self) -> str:
        return self.line.partition(" ")[2]

    def sent(self, github: GitHubDouble, pull: PullHandle) -> object:
        return self.body(github, pull) if callable(self.body) else self.body


def places(github: GitHubDouble, pull: PullHandle) -> dict[str, object]:
    """What stands in the paths, as of now."""
    repo = pull.repo.of
    pending = next((one.id for one in pull.of.reviews if one.state == "PENDING"), 0)
    approved = next((one.id for one in pull.of.reviews if one.state == "APPROVED"), 0)
    reactions = [one.id for thread in pull.of.threads for said in thread.comments for one in said.said.reactions]
    app_deliveries = [one.id for one in github.webhooks.deliveries if one.hook.app is not None]
    hooks = [hook.id for hook in repo.hooks]
    hook_deliveries = [one.id for one in github.webhooks.deliveries if hooks and one.hook.id == hooks[0]]
    return {
        "R": "/repos/acme/widget",
        "P": "/repos/acme/widget/pulls/1",
        "I": "/repos/acme/widget/issues/1",
        "head": pull.head,
        "tree": github.world.git.commit(repo.folder, pull.head).tree,
        "blob": github.world.git.tree(repo.folder, pull.head)[0].sha,
        "review": pull.of.reviews[0].id,
        "pending": pending,
        "approved": approved,
        "thread": pull.of.threads[0].comments[0].id,
        "reply": pull.of.threads[0].comments[-1].id,
        "reaction": reactions[0] if reactions else 0,
        "comment": pull.of.issue.comments[0].id,
        "talk_reaction": next((one.id for one in pull.of.issue.comments[0].said.reactions), 0),
        "suite": repo.suites[-1].id,
        "run": repo.suites[-1].runs[-1].id,
        "own_run": next((run.id for suite in repo.suites if suite.app.slug == "amends" for run in suite.runs), 0),
        "installation": next(iter(github.world.installations)),
        "bob": github.user("bob").id,
        "delivery": app_deliveries[0] if app_deliveries else 0,
        "hook": hooks[0] if hooks else 0,
        "hook_delivery": hook_deliveries[0] if hook_deliveries else 0,
    }


def _place(github: GitHubDouble, pull: PullHandle) -> object:
    return {"body": "Inline.", "path": "app.py", "line": 11, "side": "RIGHT", "commit_id": pull.head}


def _run(github: GitHubDouble, pull: PullHandle) -> object:
    return {"name": "amends", "head_sha": pull.head, "status": "in_progress"}


_HOOK = {"config": {"url": "http://127.0.0.1:9/x", "content_type": "json", "secret": "s"}, "events": ["issue_comment"]}
_OUTPUT = {"title": "t", "summary": "s"}

VISITS = [
    *(Visit(f"GET {path}") for path in (
        "{R}", "{R}/pulls", "{R}/pulls?state=all&per_page=1", "{P}", "{P}/files", "{P}/commits", "{P}/reviews",
        "{P}/reviews/{review}", "{P}/reviews/{review}/comments", "{P}/requested_reviewers", "{P}/comments",
        "{R}/pulls/comments", "{R}/pulls/comments/{thread}", "{R}/pulls/comments/{reply}/reactions", "{R}/issues",
        "{I}", "{I}/comments", "{R}/issues/comments", "{R}/issues/comments/{comment}", "{I}/reactions",
        "{R}/issues/comments/{comment}/reactions", "{I}/labels", "{I}/timeline", "{R}/labels", "{R}/labels/help wanted",
        "{R}/commits/{head}/check-runs", "{R}/commits/feature/check-runs?filter=all",
        "{R}/commits/{head}/check-suites", "{R}/check-runs/{run}", "{R}/check-runs/{run}/annotations",
        "{R}/check-suites/{suite}", "{R}/check-suites/{suite}/check-runs", "{R}/commits/{head}/statuses",
        "{R}/commits/{head}/status", "{R}/contents/app.py", "{R}/contents/docs", "{R}/contents/docs/a.md?ref=feature",
        "{R}/compare/main...feature", "{R}/commits", "{R}/commits/{head}", "{R}/commits/{head}/pulls",
        "{R}/git/commits/{head}", "{R}/git/ref/heads/main", "{R}/git/matching-refs/heads/", "{R}/git/blobs/{blob}",
        "{R}/git/trees/{tree}?recursive=1", "{R}/branches", "{R}/branches/main", "{R}/branches/main/protection",
        "{R}/rules/branches/main", "{R}/collaborators", "{R}/collaborators/bob/permission", "/user", "/users/bob",
        "/user/{bob}", "/rate_limit", "/meta", "/zen",
    )),
    Visit("GET {R}/collaborators/bob", status=204),
    Visit("GET {P}/merge", status=404),
    # Writing: reviews and comments.
    Visit("POST {P}/reviews", {"body": "Draft."}, by="bob"),
    Visit("PUT {P}/reviews/{pending}", {"body": "Another draft."}, by="bob"),
    Visit("DELETE {P}/reviews/{pending}", by="bob"),
    Visit("POST {P}/reviews", {"body": "Draft."}, by="bob"),
    Visit("POST {P}/reviews/{pending}/events", {"event": "APPROVE"}, by="bob"),
    Visit("PUT {P}/reviews/{approved}/dismissals", {"message": "Once more."}),
    Visit("POST {P}/requested_reviewers", {"reviewers": ["carol"], "team_reviewers": ["core"]}, 201),
    Visit("DELETE {P}/requested_reviewers", {"reviewers": ["carol"], "team_reviewers": ["core"]}),
    Visit("POST {P}/comments", _place, 201),
    Visit("POST {P}/comments/{thread}/replies", {"body": "Reply."}, 201),
    Visit("PATCH {R}/pulls/comments/{thread}", {"body": "Edited."}, by="bob"),
    Visit("POST {R}/pulls/comments/{thread}/reactions", {"content": "rocket"}, 201),
    Visit("DELETE {R}/pulls/comments/{thread}/reactions/{reaction}", status=204),
    Visit("DELETE {R}/pulls/comments/{reply}", status=204),
    # Conversation, labels.
    Visit("POST {R}/issues", {"title": "An issue", "body": "Text."}, 201),
    Visit("POST {I}/comments", {"body": "From the App."}, 201, "installation"),
    Visit("PATCH {R}/issues/comments/{comment}", {"body": "Edited."}),
    Visit("POST {R}/issues/comments/{comment}/reactions", {"content": "heart"}, 201),
    Visit("DELETE {R}/issues/comments/{comment}/reactions/{talk_reaction}", status=204),
    Visit("DELETE {R}/issues/comments/{comment}", status=204),
    Visit("POST {I}/reactions", {"content": "hooray"}, 201),
    Visit("POST {I}/labels", {"labels": ["bug"]}),
    Visit("PUT {I}/labels", {"labels": ["bug", "docs"]}),
    Visit("DELETE {I}/labels/docs"),
    Visit("POST {R}/labels", {"name": "made", "color": "ff0000"}, 201),
    Visit("POST {I}/assignees", {"assignees": ["bob"]}, 201),
    Visit("DELETE {I}/assignees", {"assignees": ["bob"]}),
    Visit("PUT {I}/lock", {"lock_reason": "resolved"}, 204),
    Visit("DELETE {I}/lock", status=204),
    # Checks.
    Visit("POST {R}/statuses/{head}", {"state": "success", "context": "build"}, 201),
    Visit("POST {R}/check-runs", _run, 201, "installation"),
    Visit("PATCH {R}/check-runs/{own_run}", {"conclusion": "success", "output": _OUTPUT}, by="installation"),
    Visit("POST {R}/check-suites/{suite}/rerequest", status=201),
    # Pull requests and branches.
    Visit("PATCH {P}", {"title": "The best title"}),
    Visit("POST {R}/branches/release/rename", {"new_name": "releases"}, 201),
    Visit("POST {R}/pulls", {"title": "Second", "head": "second", "base": "releases"}, 201),
    Visit("PUT {R}/pulls/3/merge", {"commit_message": "Merged."}),
    Visit("GET {R}/pulls/3/merge", status=204),
    Visit("PUT {P}/merge", status=405),
    Visit("PATCH {R}", {"name": "widget"}),
    # The App and its hooks.
    *(Visit(f"GET {path}", by="app") for path in (
        "/app", "/app/installations", "/app/installations/{installation}", "{R}/installation", "/app/hook/config",
        "/app/hook/deliveries", "/app/hook/deliveries/{delivery}",
    )),
    Visit("PATCH /app/hook/config", {"content_type": "json"}, by="app"),
    Visit("POST /app/hook/deliveries/{delivery}/attempts", status=202, by="app"),
    Visit("POST /app/installations/{installation}/access_tokens", {"repositories": ["widget"]}, 201, "app"),
    Visit("GET /installation/repositories", by="installation"),
    Visit("POST {R}/hooks", _HOOK, 201),
    Visit("GET {R}/hooks"),
    Visit("POST {R}/hooks/{hook}/pings", status=204),
    Visit("POST {I}/comments", {"body": "Heard by the hook."}, 201),
    Visit("GET {R}/hooks/{hook}/deliveries"),
    Visit("GET {R}/hooks/{hook}/deliveries/{hook_delivery}"),
    Visit("POST {R}/hooks/{hook}/deliveries/{hook_delivery}/attempts", status=202),
    Visit("DELETE {R}/hooks/{hook}", status=204),
    # Refusals, which are described too.
    Visit("GET {R}/pulls/99", status=404),
    Visit("POST {P}/reviews", {"event": "COMMENT"}, 422, "bob"),
    Visit("POST {P}/requested_reviewers", {"reviewers": ["alice"]}, 422),
    Visit("GET {R}/branches/none", status=404),
    Visit("GET {R}/contents/none", status=404),
    Visit("DELETE /installation/token", status=204, by="installation"),
    Visit("DELETE /app/installations/{installation}", status=204, by="app"),
]  # fmt: skip
