"""Branches and what protects them as JSON."""

from __future__ import annotations

from amends.doubles.github.refusal import Json
from amends.doubles.github.state.repositories import Protection, Repository
from amends.doubles.github.state.world import World


def branch(world: World, repo: Repository, name: str) -> Json:
    sha, rule = repo.branches[name], repo.protections.get(name)
    api = world.urls.api(f"/repos/{repo.full_name}")
    checks = {
        "enforcement_level": "off" if rule is None or not rule.checks else "everyone",
        "contexts": list(rule.checks) if rule else [],
        "checks": [{"context": context, "app_id": None} for context in (rule.checks if rule else ())],
    }
    return {
        "name": name,
        "commit": {"sha": sha, "url": f"{api}/commits/{sha}"},
        "protected": rule is not None,
        "protection": {"enabled": rule is not None, "required_status_checks": checks},
        "protection_url": f"{api}/branches/{name}/protection",
    }


def protection(world: World, repo: Repository, name: str) -> Json:
    rule = repo.protections[name]
    url = world.urls.api(f"/repos/{repo.full_name}/branches/{name}/protection")
    shape: Json = {
        "url": url,
        "enforce_admins": {"url": f"{url}/enforce_admins", "enabled": True},
        "required_linear_history": {"enabled": False},
        "allow_force_pushes": {"enabled": False},
        "allow_deletions": {"enabled": False},
        "required_conversation_resolution": {"enabled": rule.resolve_conversations},
    }
    if rule.checks:
        shape["required_status_checks"] = _checks(url, rule)
    if rule.approvals is not None:
        shape["required_pull_request_reviews"] = {
            "url": f"{url}/required_pull_request_reviews",
            "dismiss_stale_reviews": rule.dismiss_stale,
            "require_code_owner_reviews": False,
            "require_last_push_approval": rule.last_push_approval,
            "required_approving_review_count": rule.approvals,
        }
    return shape


def _checks(url: str, rule: Protection) -> Json:
    return {
        "url": f"{url}/required_status_checks",
        "strict": False,
        "contexts": list(rule.checks),
        "contexts_url": f"{url}/required_status_checks/contexts",
        "checks": [{"context": context, "app_id": None} for context in rule.checks],
    }


def rules(repo: Repository, name: str) -> list[Json]:
    """The same as rulesets say it."""
    rule = repo.protections.get(name)
    if rule is None:
        return []
    source = {"ruleset_source_type": "Repository", "ruleset_source": repo.full_name, "ruleset_id": repo.id}
    found: list[Json] = [{"type": "deletion", **source}, {"type": "non_fast_forward", **source}]
    if rule.approvals is not None:
        parameters: Json = {
            "required_approving_review_count": rule.approvals,
            "dismiss_stale_reviews_on_push": rule.dismiss_stale,
            "require_code_owner_review": False,
            "require_last_push_approval": rule.last_push_approval,
            "required_review_thread_resolution": rule.resolve_conversations,
        }
        found.append({"type": "pull_request", **source, "parameters": parameters})
    if rule.checks:
        checks = [{"context": context} for context in rule.checks]
        parameters = {"required_status_checks": checks, "strict_required_status_checks_policy": False}
        found.append({"type": "required_status_checks", **source, "parameters": parameters})
    return found
