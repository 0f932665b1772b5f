"""The GraphQL API: a part of GitHub's own schema, executed over the same state as REST."""
