"""The double's GraphQL is a part of GitHub's: every field of it was asked for, and every document holds there too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from graphql import build_schema, execute_sync, find_breaking_changes, parse, validate

from amends.doubles.github import GitHubDouble
from amends.doubles.github.control.actors import caller
from amends.doubles.github.control.pulls import PullHandle
from amends.doubles.github.graphql.engine import execute, schema
from amends.doubles.github.graphql.fields import TYPES, Asking
from tests.contract.descriptions import Descriptions
from tests.contract.documents import everything_of, fields_in
from tests.contract.mutations import MUTATIONS, Change
from tests.contract.refresh import SDL, double_schema
from tests.contract.tour import open_tour
from tests.doubles.client import Api

ROOT = """{
  viewer { login } user(login: "bob") { login isViewer }
  rateLimit { cost limit remaining used nodeCount resetAt }
  repository(owner: "acme", name: "widget", followRenames: true) {
    collaborators(first: 9) { totalCount pageInfo { hasNextPage } nodes { id } edges { permission cursor } }
    issueOrPullRequest(number: 1) { __typename } issue: issueOrPullRequest(number: 2) { ... on Issue { title } }
    object(expression: "main:app.py") { ... on Blob { id oid byteSize isBinary isTruncated text } }
    commit: object(expression: "main") { oid }
  }
  nodes(ids: []) { id }
}"""


# What is two steps away from every node.
FARTHER = """query($n:Int!) { repository(owner: "acme", name: "widget") {
  ref(qualifiedName: "refs/heads/main") {
    repository { id } target { oid ... on Commit { author { user { login } } } }
    branchProtectionRule {
      id pattern requiresApprovingReviews requiredApprovingReviewCount dismissesStaleReviews
      requiresConversationResolution requireLastPushApproval requiredStatusCheckContexts
    }
  }
  pullRequest(number: $n) {
    commits(last: 1) { nodes { commit { oid } } }
    reviewRequests(first: 9) { nodes {
      pullRequest { number }
      requestedReviewer { __typename ... on User { login } ... on Team { slug } ... on Bot { login } }
    } }
    statusCheckRollup { commit { oid } contexts(first: 9) {
      totalCount pageInfo { hasNextPage }
      nodes { ... on CheckRun { name } ... on StatusContext { context } } edges { cursor node { __typename } }
    } }
    comments(first: 9) { nodes {
      userContentEdits(first: 9) { nodes { editor { login } } } reactions(first: 9) { nodes { user { login } } }
      reactionGroups { reactors(first: 1) { totalCount pageInfo { hasNextPage } } }
    } }
  }
} }"""


@pytest.fixture(scope="module")
def visited() -> Iterator[tuple[GitHubDouble, PullHandle]]:
    with open_tour() as (github, pull):
        yield github, pull


def nodes(github: GitHubDouble, pull: PullHandle) -> dict[str, str]:
    """A node of each type that is one."""
    repo, app = pull.repo.of, github.world.apps[-1]
    review = next(one for one in pull.of.reviews if one.comments)
    suite = repo.suites[-1]
    return {
        "Repository": repo.node,
        "PullRequest": pull.node_id,
        "PullRequestReview": review.node,
        "PullRequestReviewComment": pull.of.threads[0].comments[0].node,
        "PullRequestReviewThread": pull.of.threads[0].node,
        "IssueComment": pull.of.issue.comments[0].node,
        "Issue": repo.issues[2].node,
        "Label": repo.labels[0].node,
        "CheckRun": suite.runs[0].node,
        "CheckSuite": suite.node,
        "StatusContext": repo.statuses[-1].node,
        "Commit": github.world.commit(repo, pull.head).node,
        "User": github.user("bob").node,
        "Bot": github.user("amends[bot]").node,
        "Organization": github.user("acme").node,
        "Team": repo.known_teams[0].node,
        "App": app.node,
    }


def test_every_field_is_answered(visited: tuple[GitHubDouble, PullHandle]) -> None:
    github, pull = visited
    documents = {kind: everything_of(kind) for kind in nodes(github, pull)}
    with Api(github, github.token("octocat")) as api:
        api.data(ROOT)
        api.data(FARTHER, n=1)
        for kind, node in nodes(github, pull).items():
            api.data(documents[kind], id=node)
    seen = set().union(*map(fields_in, [ROOT, FARTHER, *documents.values(), *(one.document for one in MUTATIONS)]))
    known = {(kind, field) for kind, fields in TYPES.items() for field in fields}
    assert known - seen == set()
    assert github.violations == []


@pytest.mark.parametrize("change", MUTATIONS, ids=lambda one: one.name)
def test_every_change_is_made(visited: tuple[GitHubDouble, PullHandle], change: Change) -> None:
    github, pull = visited
    with Api(github, github.token(change.by)) as api:
        data = api.data(change.document, input=change.input(github, pull))
    assert data[change.name] is not None
    assert github.violations == []


def test_documents_are_run_as_graphql_core_runs_them(visited: tuple[GitHubDouble, PullHandle]) -> None:
    github, pull = visited
    asking = Asking(github.world, caller(github.world, "octocat"), github.limits)
    for kind, node in nodes(github, pull).items():
        said = execute_sync(schema(), parse(everything_of(kind)), context_value=asking, variable_values={"id": node})
        assert execute(everything_of(kind), {"id": node}, None, asking)["data"] == said.data


@pytest.mark.parametrize(
    "document",
    [
        "query($a:Boolean!){viewer{login @skip(if:$a) id @include(if:$a)}}",
        "{viewer{...F ...on Node{id}} nodes(ids:[]){id}} fragment F on User{name:login ...G} fragment G on Actor{url}",
        '{repository(owner:"acme",name:"widget"){a:pullRequest(number:1){title} b:pullRequest(number:99){title}}}',
        '{repository(owner:"acme",name:"none"){id} viewer{login}}',
        '{repository(owner:"acme",name:"widget"){pullRequest(number:1){reviewThreads(first:101){totalCount}}}}',
        '{node(id:"nothing"){id}}',
        '{viewer{id} nodes(ids:["nothing","nowhere"]){id ...on User{login}}}',
    ],
)
def test_directives_fragments_and_errors_too(visited: tuple[GitHubDouble, PullHandle], document: str) -> None:
    github, _ = visited
    asking = Asking(github.world, caller(github.world, "octocat"), github.limits)
    said = execute_sync(schema(), parse(document), context_value=asking, variable_values={"a": True})
    own = execute(document, {"a": True}, None, asking)
    assert own["data"] == said.data
    assert [(one["message"], one["path"]) for one in own.get("errors", [])] == [
        (one.message, one.path) for one in said.errors or []
    ]


def test_every_mutation_has_its_change() -> None:
    assert {one.name for one in MUTATIONS} == TYPES["Mutation"].keys()


def test_the_schema_is_cut_from_githubs(descriptions: Descriptions) -> None:
    published = descriptions.read("schema.graphql.gz").decode()
    assert SDL.read_text(encoding="utf-8") == double_schema(published)


def test_a_document_that_github_would_refuse_is_noticed(
    descriptions: Descriptions, visited: tuple[GitHubDouble, PullHandle]
) -> None:
    assert validate(descriptions.schema, parse("{repository(owner:1,name:2){nonsense}}")) != []
    github, _ = visited
    with Api(github, github.token("bob")) as api:
        said = api.graphql('{repository(owner:"acme",name:"widget"){stargazerCount nonsense}}')
    assert len(said["errors"]) == 2
    assert any("nonsense" in one for one in github.violations)
    github.violations.clear()


def test_githubs_schema_breaks_nothing_of_the_doubles(descriptions: Descriptions) -> None:
    own = build_schema(SDL.read_text(encoding="utf-8"))
    lost = [one for one in find_breaking_changes(own, descriptions.schema) if "ADDED" not in one.type.name]
    assert [one for one in lost if one.type.name.startswith(("FIELD", "TYPE", "ARG"))] == []
