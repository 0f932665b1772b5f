"""Apps prove themselves by a signed JWT, and get short tokens for their installations."""

from __future__ import annotations

import secrets
from datetime import timedelta
from functools import lru_cache
from typing import cast

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from amends.doubles.github.caller import Caller
from amends.doubles.github.refusal import Refused, invalid
from amends.doubles.github.state.accounts import RANK, Account, Grant, Installation, Permissions
from amends.doubles.github.state.repositories import Repository
from amends.doubles.github.state.world import World

LONGEST = 600  # seconds a JWT may live
_SKEW = 60
_HOUR = timedelta(hours=1)


@lru_cache(maxsize=8)
def private_key(_slug: str) -> str:
    """The PEM of an App: made once in a process, because making one takes long."""
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL)
    return key.private_bytes(*form, serialization.NoEncryption()).decode()


@lru_cache(maxsize=16)
def _public_key(pem: str) -> rsa.RSAPublicKey:
    return cast("rsa.RSAPublicKey", serialization.load_pem_private_key(pem.encode(), None).public_key())


def app_of(world: World, token: str) -> Caller:
    """The App that signed this JWT, or 401 with GitHub's words."""
    undecodable = Refused(401, "A JSON web token could not be decoded")
    try:
        said = jwt.decode(token, options={"verify_signature": False})
        algorithm = jwt.get_unverified_header(token).get("alg")
    except jwt.PyJWTError:
        raise undecodable from None
    issuer = str(said.get("iss"))
    app = next((one for one in world.apps if issuer in {str(one.id), one.client_id}), None)
    if app is None:
        raise Refused(401, "Integration must generate a public key" if issuer == "None" else "Integration not found")
    if algorithm != "RS256":
        raise undecodable
    _check_times(said.get("iat"), said.get("exp"), world.clock.now().timestamp())
    try:
        options = {"verify_exp": False, "verify_iat": False, "verify_nbf": False}
        jwt.decode(token, _public_key(app.pem), algorithms=["RS256"], options=options)  # type: ignore[arg-type]
    except jwt.PyJWTError:
        raise undecodable from None
    return Caller(None, app)


def _check_times(issued: object, expires: object, now: float) -> None:
    if not isinstance(expires, int | float) or expires <= now:
        raise Refused(
            401,
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which "
            "the assertion expires",
        )
    if expires > now + LONGEST + 5:
        raise Refused(401, "'Expiration time' claim ('exp') is too far in the future")
    if not isinstance(issued, int | float) or issued > now + _SKEW:
        raise Refused(
            401,
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
        )


def user_token(world: World, account: Account, permissions: Permissions | None = None) -> Grant:
    """A personal access token; with permissions it is a fine-grained one."""
    prefix = "ghp_" if permissions is None else "github_pat_"
    grant = Grant(prefix + secrets.token_hex(18), account, permissions=permissions)
    world.grants[grant.token] = grant
    return grant


def workflow_token(world: World, account: Account, repo: Repository) -> Grant:
    """What Actions gives a run: it writes, but what it pushes starts no workflow."""
    permissions = {"contents": "write", "pull_requests": "write", "issues": "write", "checks": "write"}
    grant = Grant("ghs_" + secrets.token_hex(18), account, "workflow", None, {**permissions, "metadata": "read"})
    grant.repositories = frozenset({repo.id})
    world.grants[grant.token] = grant
    return grant


def installation_token(
    world: World, installation: Installation, repositories: frozenset[int] | None, permissions: Permissions | None
) -> Grant:
    """A token for an hour, never wider than the installation."""
    held = installation.permissions
    asked = permissions or {}
    if any(RANK.get(level, 9) > RANK[held.get(area, "none")] for area, level in asked.items()):
        raise invalid(message="The permissions requested are not granted to this installation.")
    given = dict(permissions) if permissions else dict(held)
    grant = Grant(_long_token(), installation.app.bot, "installation", installation, {**given, "metadata": "read"})
    grant.repositories = repositories
    grant.expires = world.clock.moment() + _HOUR
    world.grants[grant.token] = grant
    return grant


def _long_token() -> str:
    """Like a JWT: about 520 characters, with dots, underscores and hyphens, so that nobody counts on 40."""
    return f"ghs_{secrets.token_urlsafe(48)}.{secrets.token_urlsafe(180)}.{secrets.token_urlsafe(150)}"
