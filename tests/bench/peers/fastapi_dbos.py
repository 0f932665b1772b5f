# mypy: ignore-errors
# Peers are not installed where mypy runs.
"""Contender: FastAPI and DBOS. A workflow for each delivery, named after it and recorded before the 202.

python -m tests.bench.peers.fastapi_dbos postgresql://... 8080
"""

from __future__ import annotations

import hmac
import json
import sys

import uvicorn
from dbos import DBOS, DBOSConfig, SetWorkflowID
from fastapi import FastAPI, HTTPException, Request

from tests.bench.deliveries import SECRET

app = FastAPI()
config: DBOSConfig = {"name": "bench", "system_database_url": sys.argv[1], "log_level": "ERROR"}
DBOS(config=config)


@DBOS.step()
async def handle(payload: dict) -> str:
    return payload["action"]


@DBOS.workflow()
async def delivered(payload: dict) -> str:
    return await handle(payload)


@app.post("/webhooks/github", status_code=202)
async def webhook(request: Request):
    body = await request.body()
    wanted = "sha256=" + hmac.digest(SECRET.encode(), body, "sha256").hex()
    if not hmac.compare_digest(wanted, request.headers["X-Hub-Signature-256"]):
        raise HTTPException(401)
    with SetWorkflowID(request.headers["X-GitHub-Delivery"]):
        started = await DBOS.start_workflow_async(delivered, json.loads(body))
    return {"workflow": started.workflow_id}


if __name__ == "__main__":
    DBOS.launch()
    print("{}", flush=True)
    uvicorn.run(app, port=int(sys.argv[2]), log_level="warning", access_log=False)
