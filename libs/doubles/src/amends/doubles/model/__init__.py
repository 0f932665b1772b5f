"""A model that says what it was told to say, over the Messages API."""

from amends.doubles.model.double import Asked, ModelDouble
from amends.doubles.model.script import Breaks, Denies, Says, Step, Uses, calls, text

__all__ = ["Asked", "Breaks", "Denies", "ModelDouble", "Says", "Step", "Uses", "calls", "text"]
