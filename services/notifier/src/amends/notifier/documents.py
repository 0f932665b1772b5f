"""The GraphQL of the notifier: asking bots for a review, who is asked, and reactions. REST has not all of them."""

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

REACTED = """
query($owner: String!, $name: String!, $subject: ID!) {
  repository(owner: $owner, name: $name) { id }
  node(id: $subject) { ... on Reactable { reactionGroups { content viewerHasReacted } } }
}
"""

REACT = """
mutation($subject: ID!, $content: ReactionContent!) {
  addReaction(input: {subjectId: $subject, content: $content}) { reaction { content } }
}
"""


def reacted(data: object, content: str) -> bool:
    """Whether an answer to REACTED says that we have reacted so."""
    node = data.get("node") if isinstance(data, dict) else None
    groups = (node or {}).get("reactionGroups") or ()
    return any(one.get("content") == content and one.get("viewerHasReacted") is True for one in groups)


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
