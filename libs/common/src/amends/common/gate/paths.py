"""Which paths a fix may not touch, and which only after a human was asked. Pure.

Names are compared as a careless file system would: without case, in one form of Unicode, without trailing dots.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_LONGEST_PART = 240
# Nearly every path there is, which none of the rules of `unfit` is about: asked of every file of a repository.
_USUAL = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.+-]*+(?<!\.)(?:/(?!\Z)|\Z))++")
_UNPRINTABLE = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
# What runs, grants or steers elsewhere than in the reviewed code: CI, owners, hooks, git's own files, agents' orders.
_HARD = re.compile(
    r"""
    ^\.github/(workflows|actions)/ | ^\.github/(amends|dependabot|renovate)[^/]*$ | ^\.forgejo/ | ^\.gitea/
    | ^\.gitlab-ci[^/]*$ | ^\.gitlab/ | ^\.circleci/ | ^\.buildkite/ | ^\.drone[^/]*$ | ^\.woodpecker(/|[^/]*$)
    | ^\.travis\.yml$ | ^appveyor\.yml$ | ^\.appveyor\.yml$ | ^jenkinsfile[^/]*$ | ^azure-pipelines[^/]*$
    | ^bitbucket-pipelines\.yml$ | ^\.cirrus[^/]*$ | ^\.semaphore/ | ^\.teamcity/ | ^\.tekton/ | ^cloudbuild[^/]*$
    | (^|/)action\.ya?ml$
    | (^|/)codeowners$
    | (^|/)\.(husky|githooks|lefthook|git-hooks)(/|[^/]*$) | (^|/)lefthook[^/]*$ | (^|/)\.pre-commit-[^/]*$
    | (^|/)\.(gitattributes|gitmodules|lfsconfig|gitconfig|mailmap)$
    | (^|/)\.(claude|cursor|codex|gemini|aider[^/]*|continue|windsurf|roo|kiro|opencode|specify)(/|$)
    | (^|/)\.(cursorrules|windsurfrules|clinerules|mcp\.json|aiderignore)$
    | (^|/)(claude(\.local)?|agents|gemini|copilot-instructions|skill)\.md$ | ^\.github/(copilot|instructions|prompts)
    | (^|/)\.(vscode|idea|devcontainer|devcontainer\.json)(/|$)
    | (^|/)\.(npmrc|yarnrc|yarnrc\.yml|pypirc|netrc|envrc)$ | (^|/)pip\.conf$ | (^|/)(site|user)customize\.py$
    """,
    re.VERBOSE,
)
# What decides which code is fetched, built or tested.
_ASK = re.compile(
    r"""
    (^|/)(package(-lock)?|npm-shrinkwrap|composer|bower|deno)\.(json|jsonc|lock)$
    | (^|/)[^/]*\.lockb?$
    | (^|/)(yarn|pnpm-lock|pnpm-workspace|deno)\.(lock|ya?ml)$ | (^|/)pyproject\.toml$ | (^|/)setup\.(py|cfg)$
    | (^|/)(requirements|constraints)[^/]*\.(txt|in|lock)$ | (^|/)pipfile$ | (^|/)environment\.ya?ml$
    | (^|/)go\.(mod|sum|work)$ | (^|/)cargo\.toml$ | (^|/)build\.rs$ | (^|/)gemfile$ | (^|/)[^/]*\.gemspec$
    | (^|/)pom\.xml$ | (^|/)(build|settings)\.gradle(\.kts)?$ | (^|/)gradle/wrapper/ | (^|/)build\.sbt$
    | (^|/)[^/]*\.(cs|fs|vb)proj$ | (^|/)(nuget\.config|packages\.config|directory\.build\.(props|targets))$
    | (^|/)mix\.exs$ | (^|/)package\.swift$ | (^|/)(build|workspace|module)(\.bazel)?$ | (^|/)flake\.nix$
    | (^|/)(dockerfile|containerfile)[^/]*$ | (^|/)[^/]*\.dockerfile$ | (^|/)(docker-)?compose[^/]*\.ya?ml$
    | (^|/)(gnu)?makefile$ | (^|/)[^/]*\.mk$ | (^|/)cmakelists\.txt$ | (^|/)(taskfile|justfile|rakefile)[^/]*$
    | (^|/)(conftest\.py|pytest\.ini|tox\.ini|noxfile\.py|\.coveragerc|\.rspec|phpunit\.xml[^/]*)$
    | (^|/)(jest|vitest|karma|playwright|cypress|babel|vite|webpack|rollup|eslint|\.mocharc|\.eslintrc)[^/]*\.[^/]*$
    | (^|/)tsconfig[^/]*\.json$
    """,
    re.VERBOSE,
)


def folded(path: str) -> str:
    """The path as it is compared."""
    parts = (unicodedata.normalize("NFKC", part).casefold().rstrip(". ") for part in path.split("/"))
    return "/".join(parts)


def unfit(path: str) -> str:
    """Why nobody may write such a path at all; nothing if it is an ordinary one."""
    if len(path) <= _LONGEST_PART and _USUAL.fullmatch(path):
        return ""
    if path.startswith("/") or "\\" in path:
        return "it is no path within the repository"
    if path.startswith(("-", ":")):
        return "it could be taken for an option"
    if any(unicodedata.category(letter) in _UNPRINTABLE for letter in path):
        return "it holds what cannot be seen"
    for part in path.split("/"):
        if part in {"", ".", ".."} or len(part.encode()) > _LONGEST_PART:
            return "it is no path within the repository"
        if folded(part) in {".git", "git~1", ""} or ":" in part:
            return "git keeps it for itself"
    return ""


def is_hard(path: str) -> bool:
    """Whether no fix may touch it."""
    return _HARD.search(folded(path)) is not None


def is_asked(path: str) -> bool:
    """Whether a human has to be asked before it is touched."""
    return _ASK.search(folded(path)) is not None


def protected(path: str, patterns: Iterable[str]) -> str:
    """The pattern of the policy that holds this path, if one does. As in `.gitignore`, without exceptions:

    `*` stays within a part, `**` does not; a pattern without a slash holds everywhere; what holds a folder holds what
    is in it.
    """
    return next((pattern for pattern in patterns if _matching(pattern).search(folded(path))), "")


@lru_cache(maxsize=1_024)
def _matching(pattern: str) -> re.Pattern[str]:
    asked = "/".join(unicodedata.normalize("NFKC", part).casefold() for part in pattern.split("/"))
    anchored = "/" in asked.rstrip("/")
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", asked.strip("/"))
    wild = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(wild.get(part, re.escape(part)) for part in parts)
    return re.compile(f"{'^' if anchored else '(?:^|/)'}{body}(?:/|$)")
