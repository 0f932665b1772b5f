"""What a change must be to be published: looked at by the fixer when it proves a fix, and again by the publisher."""

from amends.common.gate.gate import Altered, Objection, Rules, examined
from amends.common.gate.hunks import Hunk, hunks, unclaimed

__all__ = ["Altered", "Hunk", "Objection", "Rules", "examined", "hunks", "unclaimed"]
