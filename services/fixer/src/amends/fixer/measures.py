"""What the fixer counts. Labels are of closed sets: a model is one of the table of prices, or another."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

from amends.common.events import Failure, Usage
from amends.common.metrics import REGISTRY
from amends.fixer.dialogue import Tokens
from amends.fixer.prices import KNOWN, OTHER, known, price

PREPARED = "prepared"
RESULTS = (PREPARED, *(failure.value for failure in Failure))
_ATTEMPTS = Counter("amends_fix_attempts", "Attempts at a fix, by how they ended.", ["result"], registry=REGISTRY)
_SECONDS = Histogram(
    "amends_fix_seconds", "From a claim to the end of its attempt.", ["ended"], registry=REGISTRY,
    buckets=(0.5, 1, 5, 15, 30, 60, 120, 300, 600, 1_200, 1_800),
)  # fmt: skip
_TURNS = Histogram(
    "amends_fix_turns", "Turns with the model in one attempt.", registry=REGISTRY,
    buckets=(0, 1, 2, 5, 10, 20, 50, 100, 200),
)  # fmt: skip
_TOKENS = Counter("amends_llm_tokens", "Tokens, as the model's maker counts.", ["model", "kind"], registry=REGISTRY)
_USD = Counter("amends_llm_cost_usd", "Dollars, by our own table of prices.", ["model"], registry=REGISTRY)
_SANDBOX = Gauge("amends_sandbox_available", "Whether the sandbox held when it was tried last.", registry=REGISTRY)

_MODELS = (*KNOWN, OTHER)
# Why one failed has a counter; how long each took by each of two dozen reasons would be many figures that say little.
_ENDED = {
    result: (_ATTEMPTS.labels(result), _SECONDS.labels(PREPARED if result == PREPARED else "failed"))
    for result in RESULTS
}
_HEARD = {(model, kind): _TOKENS.labels(model, kind) for model in _MODELS for kind in vars(Tokens())}
_PAID = {model: _USD.labels(model) for model in _MODELS}


def ended(result: str, seconds: float, usage: Usage) -> None:
    """Count an attempt."""
    attempts, took = _ENDED[result]
    attempts.inc()
    took.observe(seconds)
    _TURNS.observe(usage.turns)


def turned(model: str, tokens: Tokens) -> None:
    """Count a turn with a model."""
    name = known(model)
    for kind, number in vars(tokens).items():
        _HEARD[name, kind].inc(number)
    _PAID[name].inc(price(model).of(tokens) / 1_000_000)


def sandboxed(*, holds: bool) -> None:
    """Say whether the sandbox holds."""
    _SANDBOX.set(holds)
