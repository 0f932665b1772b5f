"""Repositories, branches, labels as JSON."""

from __future__ import annotations

from urllib.parse import quote

from amends.doubles.github.caller import role_of
from amends.doubles.github.clock import stamp
from amends.doubles.github.refusal import Json
from amends.doubles.github.shapes.accounts import user
from amends.doubles.github.state.accounts import RANK, Account
from amends.doubles.github.state.repositories import Label, Repository
from amends.doubles.github.state.world import World

_TEMPLATES = {
    "forks_url": "/forks",
    "keys_url": "/keys{/key_id}",
    "collaborators_url": "/collaborators{/collaborator}",
    "teams_url": "/teams",
    "hooks_url": "/hooks",
    "issue_events_url": "/issues/events{/number}",
    "events_url": "/events",
    "assignees_url": "/assignees{/user}",
    "branches_url": "/branches{/branch}",
    "tags_url": "/tags",
    "blobs_url": "/git/blobs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "trees_url": "/git/trees{/sha}",
    "statuses_url": "/statuses/{sha}",
    "languages_url": "/languages",
    "stargazers_url": "/stargazers",
    "contributors_url": "/contributors",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "commits_url": "/commits{/sha}",
    "git_commits_url": "/git/commits{/sha}",
    "comments_url": "/comments{/number}",
    "issue_comment_url": "/issues/comments{/number}",
    "contents_url": "/contents/{+path}",
    "compare_url": "/compare/{base}...{head}",
    "merges_url": "/merges",
    "archive_url": "/{archive_format}{/ref}",
    "downloads_url": "/downloads",
    "issues_url": "/issues{/number}",
    "pulls_url": "/pulls{/number}",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "labels_url": "/labels{/name}",
    "releases_url": "/releases{/id}",
    "deployments_url": "/deployments",
}


def minimal(world: World, repo: Repository) -> Json:
    urls = world.urls
    api = urls.api(f"/repos/{repo.full_name}")
    return {
        "id": repo.id,
        "node_id": repo.node,
        "name": repo.name,
        "full_name": repo.full_name,
        "private": repo.private,
        "owner": user(urls, repo.owner),
        "html_url": urls.html(f"/{repo.full_name}"),
        "description": repo.description,
        "fork": repo.parent is not None,
        "url": api,
        **{key: api + tail for key, tail in _TEMPLATES.items()},
    }


def repository(world: World, repo: Repository) -> Json:
    """As it stands in pull requests and webhooks."""
    urls = world.urls
    html = urls.html(f"/{repo.full_name}")
    issues = sum(issue.open for issue in repo.issues.values())
    forks = sum(one.parent is repo for one in world.repositories.values())
    return {
        **minimal(world, repo),
        "created_at": stamp(repo.created),
        "updated_at": stamp(repo.updated),
        "pushed_at": stamp(repo.updated),
        "git_url": urls.git(repo).replace("http://", "git://"),
        "ssh_url": f"git@github.example:{repo.full_name}.git",
        "clone_url": urls.git(repo),
        "svn_url": html,
        "homepage": None,
        "size": 1,
        "stargazers_count": 0,
        "watchers_count": 0,
        "language": None,
        "has_issues": True,
        "has_projects": True,
        "has_downloads": True,
        "has_wiki": True,
        "has_pages": False,
        "has_discussions": False,
        "forks_count": forks,
        "mirror_url": None,
        "archived": repo.archived,
        "disabled": False,
        "open_issues_count": issues,
        "license": None,
        "allow_forking": True,
        "is_template": False,
        "web_commit_signoff_required": False,
        "topics": [],
        "visibility": "private" if repo.private else "public",
        "forks": forks,
        "open_issues": issues,
        "watchers": 0,
        "default_branch": repo.default_branch,
        "custom_properties": {},
    }


def embedded(world: World, repo: Repository) -> Json:
    """The repository within a pull request's `head` and `base`, with its merge settings."""
    return {
        **repository(world, repo),
        "allow_squash_merge": True,
        "allow_merge_commit": True,
        "allow_rebase_merge": True,
        "allow_auto_merge": False,
        "delete_branch_on_merge": False,
        "allow_update_branch": False,
        "use_squash_pr_title_as_default": False,
        "squash_merge_commit_message": "COMMIT_MESSAGES",
        "squash_merge_commit_title": "COMMIT_OR_PR_TITLE",
        "merge_commit_message": "PR_TITLE",
        "merge_commit_title": "MERGE_MESSAGE",
    }


def permissions(repo: Repository, account: Account | None) -> Json:
    held = 0 if account is None else RANK[role_of(repo, account)]
    words = {"admin": "admin", "maintain": "maintain", "push": "write", "triage": "triage", "pull": "read"}
    return {word: held >= RANK[role] for word, role in words.items()}


def full(world: World, repo: Repository, account: Account | None) -> Json:
    """The answer to a question for one repository."""
    parent = {} if repo.parent is None else {key: repository(world, repo.parent) for key in ("parent", "source")}
    own = {"permissions": permissions(repo, account), "network_count": 0, "subscribers_count": 0}
    return {**embedded(world, repo), **parent, **own, "temp_clone_token": ""}


def label(world: World, repo: Repository, one: Label) -> Json:
    return {
        "id": one.id,
        "node_id": one.node,
        "url": world.urls.api(f"/repos/{repo.full_name}/labels/{quote(one.name, safe=':')}"),
        "name": one.name,
        "color": one.color,
        "default": False,
        "description": one.description,
    }
