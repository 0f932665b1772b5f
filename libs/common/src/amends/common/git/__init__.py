"""Git: the one home of its processes. Everything here works on bare repositories of our own, never on a work tree."""

from amends.common.git.access import Access
from amends.common.git.objects import Author, Commit, Edit, Entry, TooLarge
from amends.common.git.process import GitFailed, GitMissing, version
from amends.common.git.pushing import Moved, Push, Pushed, Rejected, Unknown
from amends.common.git.repositories import Repositories
from amends.common.git.repository import Repository
from amends.common.git.token import Remote

__all__ = [
    "Access",
    "Author",
    "Commit",
    "Edit",
    "Entry",
    "GitFailed",
    "GitMissing",
    "Moved",
    "Push",
    "Pushed",
    "Rejected",
    "Remote",
    "Repositories",
    "Repository",
    "TooLarge",
    "Unknown",
    "version",
]
