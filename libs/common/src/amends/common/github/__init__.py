"""Everything that knows GitHub: its objects as we read them, what they say, and the client that asks."""

import sys
from types import ModuleType
from typing import cast

# httpx loads its command line wherever it finds what that needs: a twentieth of a start, for what nobody calls.
sys.modules.setdefault("httpx._main", cast("ModuleType", None))
