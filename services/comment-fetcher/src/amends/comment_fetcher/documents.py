"""The GraphQL queries: made of parts, because which pages of which lists are asked for is different each time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from amends.comment_fetcher.strand import SIZE, Span

List = Literal["threads", "reviews", "talk", "checks", "replies"]
POLICY_FILE = ".github/amends.yml"
NESTED = 50  # comments that come with each thread; 100 threads of a page then stay far below GitHub's limit of nodes

_WHO = "__typename login ... on User { databaseId } ... on Bot { databaseId } ... on Organization { databaseId }"
_TURN = "totalCount pageInfo { startCursor endCursor hasNextPage hasPreviousPage }"
_SPOKEN = "id fullDatabaseId body createdAt updatedAt lastEditedAt isMinimized author { ...Who } editor { ...Who }"
_REPLY = "id fullDatabaseId state updatedAt lastEditedAt isMinimized editor { ...Who }"
_FIELDS: dict[List, str] = {
    "threads": (
        "id isResolved isOutdated path line startLine diffSide startDiffSide subjectType "
        f"comments(first: {NESTED}) {{ pageInfo {{ hasNextPage endCursor }} nodes {{ {_REPLY} }} }}"
    ),
    "reviews": f"{_SPOKEN} state submittedAt commit {{ oid }}",
    "talk": _SPOKEN,
    "checks": (
        "... on CheckRun { id name status conclusion title summary detailsUrl completedAt "
        "isRequired(pullRequestNumber: $number) } "
        "... on StatusContext { id context state description targetUrl createdAt "
        "isRequired(pullRequestNumber: $number) }"
    ),
    "replies": _REPLY,
}
_CONNECTIONS: dict[List, str] = {
    "threads": "reviewThreads", "reviews": "reviews", "talk": "comments", "checks": "contexts", "replies": "comments",
}  # fmt: skip
_PULL = (
    "id number title url state isDraft mergedAt updatedAt locked mergeable headRefName headRefOid headRef { name } "
    "headRepository { databaseId } baseRefName author { ...Who } labels(first: 100) { nodes { name } }"
)
_REMARK = (
    f"{_SPOKEN} state path diffHunk originalLine originalStartLine originalCommit {{ oid }} "
    "pullRequestReview { fullDatabaseId } replyTo { fullDatabaseId }"
)
_POLICY = (
    f'policy: object(expression: "HEAD:{POLICY_FILE}") {{ ... on Blob {{ oid byteSize isBinary isTruncated text }} }}'
)
_WHO_FRAGMENT = f"fragment Who on Actor {{ {_WHO} }}"
_REPOSITORY = "repository(owner: $owner, name: $name)"
_VARIABLES = "$owner: String!, $name: String!"


@dataclass(frozen=True)
class Asked:
    """A part of a list: of the pull request, or of the thread `of`."""

    list: List
    span: Span
    of: str = ""


@dataclass(frozen=True)
class Document:
    """A query and its variables."""

    text: str
    variables: Mapping[str, object]


def pull_document(number: int, asked: Sequence[Asked], *, policy: bool) -> Document:
    """The pull request, and these parts of its lists under the names a0, a1, ..."""
    variables: dict[str, object] = {"number": number}
    declared = [_VARIABLES, "$number: Int!"]
    inside: list[str] = []
    beside: list[str] = []
    for place, one in enumerate(asked):
        if cursor := one.span.after or one.span.before:
            declared.append(f"$c{place}: String!")
            variables[f"c{place}"] = cursor
        if one.of:
            declared.append(f"$n{place}: ID!")
            variables[f"n{place}"] = one.of
        (beside if one.of else inside).append(_part(place, one))
    text = (
        f"query Pull({', '.join(declared)}) {{ {_REPOSITORY} {{ databaseId nameWithOwner {_POLICY if policy else ''} "
        f"pullRequest(number: $number) {{ {_PULL} {' '.join(inside)} }} }} {' '.join(beside)} }} {_WHO_FRAGMENT}"
    )
    return Document(text, variables)


def _part(place: int, one: Asked) -> str:
    size = f"{'last' if one.span.last else 'first'}: {one.span.size}"
    if one.span.after:
        size += f", after: $c{place}"
    elif one.span.before:
        size += f", before: $c{place}"
    page = f"({size}) {{ {_TURN} nodes {{ {_FIELDS[one.list]} }} }}"
    connection = _CONNECTIONS[one.list]
    match one.list:
        case "checks":
            return f"a{place}: statusCheckRollup {{ {connection}{page} }}"
        case "replies":
            return f"a{place}: node(id: $n{place}) {{ ... on PullRequestReviewThread {{ {connection}{page} }} }}"
        case _:
            return f"a{place}: {connection}{page}"


def nodes_document(ids: Sequence[str]) -> Document:
    """Comments of threads by their ids, with their words; of anything else only that it is there."""
    parts = [list(ids[start : start + SIZE]) for start in range(0, len(ids), SIZE)]
    declared = "".join(f", $i{place}: [ID!]!" for place in range(len(parts)))
    asked = " ".join(
        f"b{place}: nodes(ids: $i{place}) {{ __typename id ... on PullRequestReviewComment {{ {_REMARK} }} }}"
        for place in range(len(parts))
    )
    text = f"query Nodes({_VARIABLES}{declared}) {{ {_REPOSITORY} {{ databaseId }} {asked} }} {_WHO_FRAGMENT}"
    return Document(text, {f"i{place}": part for place, part in enumerate(parts)})


def base_checks_document(branch: str, after: str | None = None) -> Document:
    """A page of how the checks of a branch's last commit ended."""
    check = "... on CheckRun { id name status conclusion } ... on StatusContext { context state }"
    text = (
        f"query BaseChecks({_VARIABLES}, $branch: String!, $after: String) {{ {_REPOSITORY} {{ databaseId "
        "ref(qualifiedName: $branch) { target { ... on Commit { "
        f"statusCheckRollup {{ contexts(first: {SIZE}, after: $after) {{ pageInfo {{ hasNextPage endCursor }} "
        f"nodes {{ {check} }} }} }} }} }} }} }} }}"
    )
    return Document(text, {"branch": f"refs/heads/{branch}", "after": after})


def policy_document() -> Document:
    """The repository's policy file, as its default branch has it."""
    return Document(f"query Rules({_VARIABLES}) {{ {_REPOSITORY} {{ databaseId nameWithOwner {_POLICY} }} }}", {})


def open_document(after: str | None, *, policy: bool) -> Document:
    """A page of the open pull requests, each with what tells whether anything was said or done since."""
    text = (
        f"query Open({_VARIABLES}, $after: String) {{ {_REPOSITORY} {{ databaseId nameWithOwner "
        f"{_POLICY if policy else ''} pullRequests(states: [OPEN], first: {SIZE}, after: $after, "
        f"orderBy: {{ field: CREATED_AT, direction: ASC }}) {{ {_TURN} nodes {{ id number updatedAt headRefOid isDraft "
        "reviews(first: 1) { totalCount } reviewThreads(first: 1) { totalCount } comments(first: 1) { totalCount } "
        "statusCheckRollup { state } } } } }"
    )
    return Document(text, {"after": after})


def chunks(asked: Sequence[Asked], most: int = 40) -> Iterable[Sequence[Asked]]:
    """So many parts in one query; none at all is one query, too."""
    return [asked[start : start + most] for start in range(0, len(asked), most)] or [asked]
