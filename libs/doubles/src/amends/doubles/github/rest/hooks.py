"""Hooks, the list of what was delivered, and delivering again. GitHub never does that by itself."""

from __future__ import annotations

from collections.abc import Callable

from amends.doubles.github.caller import Need
from amends.doubles.github.clock import stamp
from amends.doubles.github.refusal import Json, field_error, invalid, not_found
from amends.doubles.github.rest.call import NO_CONTENT, Answer, Call
from amends.doubles.github.rest.pages import asked
from amends.doubles.github.rest.routes import Routes
from amends.doubles.github.state.repositories import Hook
from amends.doubles.github.state.world import Happening
from amends.doubles.github.webhooks.post import UNDER_WAY, Delivery, Post

_READ, _WRITE = Need("repository_hooks", "read", "admin"), Need("repository_hooks", "write", "admin")
_AT = "/repos/{owner}/{repo}/hooks"


def routes(post: Post) -> Routes:  # noqa: C901 - a table of small answers about one thing
    """The routes need the post, which other routes do not know."""
    table = Routes()

    @table.on("GET /app/hook/config")
    def app_config(call: Call) -> Answer:
        return Answer(200, _config(_app_hook(call)))

    @table.on("PATCH /app/hook/config")
    def app_configured(call: Call) -> Answer:
        hook = _app_hook(call)
        hook.url, hook.secret = call.text("url") or hook.url, call.text("secret") or hook.secret
        return Answer(200, _config(hook))

    @table.on("GET /app/hook/deliveries")
    def app_deliveries(call: Call) -> Answer:
        return _listed(call, post, _app_hook(call))

    @table.on("GET /app/hook/deliveries/{delivery_id}")
    def app_delivery(call: Call) -> Answer:
        return Answer(200, _full(_delivery(call, post, _app_hook(call))))

    @table.on("POST /app/hook/deliveries/{delivery_id}/attempts")
    def app_again(call: Call) -> Answer:
        post.redeliver(_delivery(call, post, _app_hook(call)).id)
        return Answer(202, {})

    @table.on(f"GET {_AT}", _READ)
    def hooks(call: Call) -> Answer:
        return Answer(200, [_hook(call, one) for one in call.repository.hooks])

    @table.on(f"POST {_AT}", _WRITE)
    def made(call: Call) -> Answer:
        config = call.fields.get("config") or {}
        if not isinstance(config.get("url"), str):
            raise invalid(field_error("Hook", "config", "missing_field"))
        world, repo = call.world, call.repository
        events = call.names("events") or ["push"]
        hook = Hook(
            world.ids.take("hook"), config["url"], config.get("secret") or "", world.clock.moment(), events, repo
        )
        hook.form = config.get("content_type", "form") != "json"
        repo.hooks.append(hook)
        ping(call, hook)
        return Answer(201, _hook(call, hook))

    @table.on(f"DELETE {_AT}/{{hook_id}}", _WRITE)
    def removed(call: Call) -> Answer:
        call.repository.hooks.remove(_repo_hook(call))
        return NO_CONTENT

    @table.on(f"POST {_AT}/{{hook_id}}/pings", _READ)
    def pinged(call: Call) -> Answer:
        ping(call, _repo_hook(call))
        return NO_CONTENT

    @table.on(f"GET {_AT}/{{hook_id}}/deliveries", _READ)
    def deliveries(call: Call) -> Answer:
        return _listed(call, post, _repo_hook(call))

    @table.on(f"GET {_AT}/{{hook_id}}/deliveries/{{delivery_id}}", _READ)
    def delivery(call: Call) -> Answer:
        return Answer(200, _full(_delivery(call, post, _repo_hook(call))))

    @table.on(f"POST {_AT}/{{hook_id}}/deliveries/{{delivery_id}}/attempts", _READ)
    def again(call: Call) -> Answer:
        post.redeliver(_delivery(call, post, _repo_hook(call)).id)
        return Answer(202, {})

    return table


def ping(call: Call, hook: Hook) -> None:
    said = {"zen": "Design for failure.", "hook_id": hook.id, "hook": _hook(call, hook)}
    call.world.emit(Happening("ping", "", call.caller.someone, call.repo, said))


def _app_hook(call: Call) -> Hook:
    if call.app.hook is None:
        raise not_found()
    return call.app.hook


def _repo_hook(call: Call) -> Hook:
    number = call.number("hook_id")
    if (found := next((one for one in call.repository.hooks if one.id == number), None)) is None:
        raise not_found()
    return found


def _config(hook: Hook) -> Json:
    secret = {"secret": "********"} if hook.secret else {}
    return {"content_type": "form" if hook.form else "json", "insecure_ssl": "0", "url": hook.url, **secret}


def _hook(call: Call, hook: Hook) -> Json:
    repo = call.repository
    api = call.world.urls.api(f"/repos/{repo.full_name}/hooks/{hook.id}")
    return {
        "type": "Repository",
        "id": hook.id,
        "name": "web",
        "active": hook.active,
        "events": hook.events,
        "config": _config(hook),
        "updated_at": stamp(hook.created),
        "created_at": stamp(hook.created),
        "url": api,
        "test_url": f"{api}/test",
        "ping_url": f"{api}/pings",
        "deliveries_url": f"{api}/deliveries",
        "last_response": {"code": None, "status": "unused", "message": None},
    }


def _delivery(call: Call, post: Post, hook: Hook) -> Delivery:
    number = call.number("delivery_id")
    found = (one for one in post.deliveries if one.hook is hook and one.id == number)
    if (one := next(found, None)) is None:
        raise not_found()
    return one


def _listed(call: Call, post: Post, hook: Hook) -> Answer:
    """Newest first, with a cursor instead of page numbers."""
    status = call.query.get("status")
    fits: Callable[[Delivery], bool] = lambda one: status is None or _succeeded(one) == (status == "success")  # noqa: E731
    found = [one for one in reversed(post.deliveries) if one.hook is hook and one.outcome is not None and fits(one)]
    cursor = call.query.get("cursor", "").removeprefix("v1_")
    found = [one for one in found if not cursor.isdigit() or one.id <= int(cursor)]
    _, size = asked(call)
    link = {}
    if len(found) > size:
        url = call.world.urls.api(f"{call.path}?per_page={size}&cursor=v1_{found[size].id}")
        link = {"link": f'<{url}>; rel="next"'}
    return Answer(200, [_brief(one) for one in found[:size]], link)


def _succeeded(one: Delivery) -> bool:
    return one.outcome is not None and 200 <= one.outcome.code < 300  # noqa: PLR2004 - what HTTP calls success


def _brief(one: Delivery) -> Json:
    outcome = one.outcome or UNDER_WAY
    return {
        "id": one.id,
        "guid": one.guid,
        "delivered_at": stamp(one.at),
        "redelivery": one.again,
        "duration": round(outcome.duration, 2),
        "status": outcome.status,
        "status_code": outcome.code,
        "event": one.event,
        "action": one.action or None,
        "installation_id": one.installation,
        "repository_id": None if one.repo is None else one.repo.id,
        "throttled_at": None,
    }


def _full(one: Delivery) -> Json:
    outcome = one.outcome or UNDER_WAY
    answer = {"headers": outcome.headers or None, "payload": outcome.body or None}
    return {
        **_brief(one),
        "url": one.hook.url,
        "request": {"headers": one.headers, "payload": one.payload},
        "response": answer,
    }
