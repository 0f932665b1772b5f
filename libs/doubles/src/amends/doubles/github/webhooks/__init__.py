"""Events as GitHub sends them: what they say, how they are signed, and how they go astray."""
