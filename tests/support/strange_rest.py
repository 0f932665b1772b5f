"""The strange GitHub's pull request and what is said about it, as people make it and as REST shows it."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

Json = dict[str, Any]
Answer = tuple[int, Any, dict[str, str]]
ODD = (
    "offsets",  # dates in another zone
    "fractions",  # dates with microseconds
    "gzip", "chunked", "http10", "nodate",  # how an answer travels
    "scm",  # git in a place of its own
    "tls",  # with a certificate that nobody has signed but itself
    "int_nodes",  # global names that are numbers
    "unnamed",  # no global names but in GraphQL
    "null_nodes",  # GraphQL lists in which something is not shown
    "few", "odd_links",  # pages of three; links with other parameters first and no quotes
    "limited",  # a secondary limit once, until a date
    "partial",  # GraphQL errors beside partial data
    "no_graphql", "old_schema", "web_page", "no_git", "renamed", "unnumbered",
)  # fmt: skip
ROBOT = "robot"
NUMBER, REPO = 7, 77
_HUNK = "@@ -1,3 +1,3 @@\n a = 1\n-b = 2"
GONE: Answer = (404, {"message": "Not Found"}, {})
_ENDS = {"head": "topic", "base": "main"}


class Shop:
    """The pull request and all that is said about it. Alice made it, bob may write, and ours is the robot's token."""

    def __init__(self, folder: Path, odd: frozenset[str]) -> None:
        assert odd <= set(ODD)
        self.odd, self.folder, self.lock = odd, folder, threading.RLock()
        self.api, self.name = "", "Acme/shop.js"
        self.hosts: set[str] = set()
        self.people = {"alice": 11, "bob": 12, ROBOT: 13}
        self.reviews: list[Json] = []
        self.threads: list[Json] = []
        self.talk: list[Json] = []
        self.labels: list[str] = []
        self.requested: list[str] = []
        self._id, self._now, self._limits = 2**53, datetime(2026, 11, 1, 12, 0, 0, 123456, tzinfo=UTC), 1
        self.bare = folder / "git/Acme/shop.js.git"
        self._commits(folder / "work")

    def _commits(self, work: Path) -> None:
        def git(*arguments: str) -> None:
            who = ("-c", "user.name=alice", "-c", "user.email=alice@x.test")
            subprocess.run(["git", *who, *arguments], check=True, capture_output=True)

        git("init", "--bare", "-b", "main", str(self.bare))
        git("-C", str(self.bare), "config", "http.receivepack", "true")
        git("clone", str(self.bare), str(work))
        for branch, line in (("main", "b = 2"), ("topic", "b = 22")):
            git("-C", str(work), "checkout", "-B", branch)
            (work / "a.py").write_text(f"a = 1\n{line}\nc = 3\n")
            git("-C", str(work), "add", ".")
            git("-C", str(work), "commit", "-m", branch)
            git("-C", str(work), "push", "origin", branch)

    def sha(self, ref: str) -> str:
        return self._asked("rev-parse", ref).strip()

    def file(self) -> str:
        """What stands in the only file of the branch."""
        return self._asked("show", "topic:a.py")

    def _asked(self, *git: str) -> str:
        return subprocess.check_output(["git", "-C", str(self.bare), *git], text=True)

    # --- what people do ----------------------------------------------------------------------------------------------

    def review(self, who: str, state: str, body: str = "") -> Json:
        return self._added(self.reviews, who, body, state=state, sha=self.sha("topic"))

    def thread(self, who: str, body: str, review: Json | None = None) -> Json:
        first = self._added([], who, body, review=review and review["id"])
        hunk = f"{_HUNK}\n+{self.file().splitlines()[1]}"
        self.threads.append({"id": first["id"], "resolved": False, "comments": [first], "hunk": hunk})
        return self.threads[-1]

    def reply(self, who: str, body: str, thread: Json) -> Json:
        return self._added(thread["comments"], who, body, review=None)

    def say(self, who: str, body: str) -> Json:
        return self._added(self.talk, who, body)

    def _added(self, to: list[Json], who: str, body: str, **more: object) -> Json:
        self._id += 1
        to.append({"id": self._id, "who": who, "body": body, "at": self._date(), **more})
        return to[-1]

    def _date(self) -> str:
        self._now += timedelta(seconds=7)
        if "offsets" in self.odd:
            return self._now.astimezone(timezone(timedelta(hours=5, minutes=30))).isoformat()
        return self._now.isoformat() if "fractions" in self.odd else self._now.strftime("%Y-%m-%dT%H:%M:%SZ")

    # --- REST --------------------------------------------------------------------------------------------------------

    def rest(self, method: str, path: str, query: str, said: Json) -> Answer:
        if "renamed" in self.odd and path.startswith("/repos/acme/old"):
            beyond = path.removeprefix("/repos/acme/old")
            return (301 if method == "GET" else 307), {}, {"Location": f"{self.api}/repositories/{REPO}{beyond}"}
        below = re.sub(rf"^/(repos/{re.escape(self.name)}|repositories/{REPO})(?=/|$)", "R", path, flags=re.IGNORECASE)
        for asked, pattern, answer in self._routes():
            if method == asked and (found := re.fullmatch(pattern, below)):
                return self._paged(answer(*found.groups(), said), below, query)
        return GONE

    def _routes(self) -> Sequence[tuple[str, str, Callable[..., Any]]]:
        return (
            ("GET", "/user", lambda said: self._who(ROBOT)),
            ("GET", r"/user/(\d+)", lambda number, said: self._numbered(int(number))),
            ("GET", "/users/(.+)", lambda login, said: self._who(login)),
            ("GET", "R", lambda said: self._repository()),
            ("GET", f"R/pulls/{NUMBER}", lambda said: self._pull()),
            ("GET", f"R/pulls/{NUMBER}/comments", lambda said: [self._remark(t, c) for t, c in self._remarks()]),
            ("POST", f"R/pulls/{NUMBER}/comments", self._reply),
            ("GET", r"R/pulls/comments/(\d+)", self._single_remark),
            ("GET", rf"R/pulls/{NUMBER}/reviews/(\d+)", self._single_review),
            ("POST", f"R/pulls/{NUMBER}/requested_reviewers", self._ask),
            ("GET", f"R/issues/{NUMBER}/comments", lambda said: [self._said(one) for one in self.talk]),
            ("POST", f"R/issues/{NUMBER}/comments", lambda said: self._said(self.say(ROBOT, said["body"]))),
            ("GET", r"R/issues/comments/(\d+)", self._single_word),
            ("PATCH", r"R/issues/comments/(\d+)", self._edit),
            ("POST", f"R/issues/{NUMBER}/labels", lambda said: self._label([*self.labels, *said["labels"]])),
            ("DELETE", f"R/issues/{NUMBER}/labels/(.+)", lambda name, said: self._unlabel(unquote(name))),
            ("POST", "R/labels", lambda said: {"name": said["name"], "description": None}),
            ("GET", "R/collaborators/(.+)/permission", lambda login, said: {"permission": "write", "user": None}),
            ("GET", "R/branches/(.+)", lambda name, said: {"name": name}),
            ("GET", "R/commits/.+/check-runs", lambda said: {"total_count": 0, "check_runs": []}),
            ("GET", "R/commits/.+/status", lambda said: {"state": "pending", "statuses": []}),
            ("GET", "R/compare/.+", lambda said: {"status": "ahead", "files": None}),
        )

    def _paged(self, made: Any, path: str, query: str) -> Answer:
        if made is None:
            return GONE
        if not isinstance(made, list) or "per_page" not in query:
            return 200, made, {}
        asked: dict[str, int] = {name: int(values[0]) for name, values in parse_qs(query).items()}
        size, page = (3 if "few" in self.odd else asked["per_page"]), asked.get("page", 1)
        last = max(1, -(-len(made) // size))
        links = [("next", page + 1), ("last", last)] if page < last else []
        odd = "odd_links" in self.odd
        form = '<{0}?page={2}&x=1>; title="a, b; c"; rel={1}' if odd else '<{0}?x=1&page={2}>; rel="{1}"'
        link = ",".join(form.format(f"{self.api}/{path}", rel, number) for rel, number in links[:: -1 if odd else 1])
        return 200, made[(page - 1) * size : page * size], {"Link": link} if link else {}

    def _who(self, login: str) -> Json | None:
        return {"id": self.people[login], "login": login, "name": None} if login in self.people else None

    def _numbered(self, number: int) -> Json | None:
        return next((self._who(login) for login, one in self.people.items() if one == number), None)

    def _node(self, kind: str, number: int) -> Any:
        return None if "unnamed" in self.odd else self._global_id(kind, number)

    def _global_id(self, kind: str, number: int) -> Any:
        return number if "int_nodes" in self.odd else f"{kind}_{number}"

    def _repository(self) -> Json:
        site = self.api.removesuffix("/api/v3")
        where = f"{site}/scm/{self.name}.git" if "scm" in self.odd else "http://elsewhere.invalid/x.git"
        mine = {"default_branch": "main", "clone_url": where, "permissions": {"push": True}}
        return {"id": REPO, "full_name": self.name, **mine}

    def _pull(self) -> Json:
        """Without whatever the description does not require, and with what nobody knows."""
        ends = {end: {"sha": self.sha(ref), "ref": ref, "repo": self._repository()} for end, ref in _ENDS.items()}
        labels: list[Json] = [{"name": name} for name in self.labels] or [{"id": 1, "name": None}]
        about = {"title": "A change", "html_url": f"{self.api}/pull/7", "state": "open", "user": self._who("alice")}
        return {"number": NUMBER, **about, **ends, "labels": labels, "locked": None, "merged_at": None, "new": [None]}

    def _remarks(self) -> Iterator[tuple[Json, Json]]:
        return ((thread, comment) for thread in self.threads for comment in thread["comments"])

    def _remark(self, thread: Json, one: Json) -> Json:
        reply = {} if one["id"] == thread["id"] else {"in_reply_to_id": thread["id"]}
        place = {
            "path": "a.py",
            "line": 2,
            "diff_hunk": thread["hunk"],
            "commit_id": self.sha("topic"),
            "position": None,
        }
        told = {**self._said(one), "node_id": self._node("PRRC", one["id"])}
        return {**told, **place, **reply, "pull_request_review_id": one.get("review")}

    def _single_remark(self, number: str, said: Json) -> Json | None:
        return next((self._remark(thread, one) for thread, one in self._remarks() if one["id"] == int(number)), None)

    def _single_word(self, number: str, said: Json) -> Json | None:
        return next((self._said(one) for one in self.talk if one["id"] == int(number)), None)

    def _single_review(self, number: str, said: Json) -> Json | None:
        found = next((one for one in self.reviews if one["id"] == int(number)), None)
        return found and {**self._said(found), "node_id": self._node("PRR", found["id"]), "state": found["state"]}

    def _said(self, one: Json) -> Json:
        named = {"id": one["id"], "node_id": self._node("IC", one["id"]), "user": self._who(one["who"])}
        return {**named, "body": one["body"], "created_at": one["at"], "updated_at": one["at"], "reactions": None}

    def _reply(self, said: Json) -> Json | None:
        found = (thread for thread, one in self._remarks() if one["id"] == said["in_reply_to"])
        if (thread := next(found, None)) is None:
            return None
        return self._remark(thread, self.reply(ROBOT, said["body"], thread))

    def _edit(self, number: str, said: Json) -> Json | None:
        one = next((one for one in self.talk if one["id"] == int(number)), None)
        if one is not None:
            one.update(body=said["body"], at=self._date())
        return one and self._said(one)

    def _ask(self, said: Json) -> Json:
        self.requested += said["reviewers"]
        return self._pull()

    def _label(self, names: list[str]) -> list[Json]:
        self.labels = names
        return [{"name": name} for name in names]

    def _unlabel(self, name: str) -> list[Json]:
        return self._label([one for one in self.labels if one != name])

    # --- limits ------------------------------------------------------------------------------------------------------

    def limited(self, path: str) -> bool:
        """Whether this request is one too many."""
        if "limited" not in self.odd or not path.endswith("/comments"):
            return False
        self._limits -= 1
        return self._limits >= 0
