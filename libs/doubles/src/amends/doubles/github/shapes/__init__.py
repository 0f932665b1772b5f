"""Things as REST and webhooks show them, key by key as GitHub's descriptions have them."""
