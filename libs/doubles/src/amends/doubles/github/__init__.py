"""A stateful GitHub: REST, GraphQL, webhooks and git over one HTTP address, with faults on switches."""

from amends.doubles.github.double import GitHubDouble

__all__ = ["GitHubDouble"]
