"""The GraphQL of the notifier: asking bots for a review, and who is asked. REST neither takes nor lists them."""

from __future__ import annotations

REQUESTED = """
query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewRequests(first: 100) {
        nodes { requestedReviewer { __typename ... on User { databaseId } ... on Bot { databaseId } } }
      }
    }
  }
}
"""

ASK = """
mutation($pull: ID!, $bots: [ID!]) {
  requestReviews(input: {pullRequestId: $pull, botIds: $bots, union: true}) { clientMutationId }
}
"""


def requested(data: object) -> set[int]:
    """The accounts of an answer to REQUESTED."""
    found: set[int] = set()
    for name in ("repository", "pullRequest", "reviewRequests"):
        data = data.get(name) if isinstance(data, dict) else None
    nodes = data.get("nodes") if isinstance(data, dict) else None
    for node in nodes or ():
        reviewer = (node or {}).get("requestedReviewer") or {}
        if isinstance(number := reviewer.get("databaseId"), int):
            found.add(number)
    return found
