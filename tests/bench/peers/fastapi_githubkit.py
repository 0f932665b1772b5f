# mypy: ignore-errors
# Peers are not installed where mypy runs.
"""Contender: FastAPI and githubkit, as their documentation writes a webhook. It keeps nothing.

python -m tests.bench.peers.fastapi_githubkit 8080
"""

from __future__ import annotations

import sys

import uvicorn
from fastapi import FastAPI, HTTPException, Request
from githubkit.webhooks import parse, verify

from tests.bench.deliveries import SECRET

app = FastAPI()


@app.post("/webhooks/github", status_code=202)
async def webhook(request: Request):
    body = await request.body()
    if not verify(SECRET, body, request.headers["X-Hub-Signature-256"]):
        raise HTTPException(401)
    event = parse(request.headers["X-GitHub-Event"], body)
    return {"action": event.action}


if __name__ == "__main__":
    print("{}", flush=True)
    uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", access_log=False)
