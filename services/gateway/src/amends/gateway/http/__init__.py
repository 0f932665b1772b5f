"""HTTP/1.1 as far as the gateway needs it, and stricter than anybody in front of it: what two might read in two ways is
refused. No framework, because GitHub's deliveries come here in thousands and each is worth a fsync, not a stack of
middleware.
"""
