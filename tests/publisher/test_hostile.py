"""Hostile repositories and workspaces: nothing in them runs, and no token is where it can be read."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from amends.common.events import Escalated, Failure, FixFailed, FixPrepared, FixPushed, PushRefused
from amends.common.git import Access, Remote, Repositories, Repository
from amends.common.git.remotely import Renamed
from amends.common.git.token import BadAddress, told
from amends.common.github.auth import PUSHING
from amends.common.github.client import Client
from amends.fixer.workspaces import Workspaces
from tests.support.book import Book
from tests.support.fixing import fixing, suggests
from tests.support.github import LINES, Scene
from tests.support.publishing import WHAT, Crew, publishing


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Path]:
    """A program that leaves a trace when it is run; nobody may run it."""
    trace, program = tmp_path / "trace", tmp_path / "canary"
    program.write_text(f"#!/bin/sh\necho ran $0 $* >> {trace}\nexit 0\n")
    program.chmod(0o755)
    yield program
    assert not trace.exists(), trace.read_text()


def settings_of(canary: Path) -> str:
    """A git configuration that runs it at every turn."""
    return (
        f"[core]\n\tfsmonitor = {canary}\n\thooksPath = {canary.parent}/hooks\n"
        f"\tpager = {canary}\n\teditor = {canary}\n"
        f"\tsshCommand = {canary}\n\taskPass = {canary}\n\tgitProxy = {canary}\n"
        f'[filter "evil"]\n\tclean = {canary}\n\tsmudge = {canary}\n\tprocess = {canary}\n\trequired = true\n'
        f'[diff]\n\texternal = {canary}\n[diff "evil"]\n\tcommand = {canary}\n\ttextconv = {canary}\n'
        f'[merge "evil"]\n\tdriver = {canary}\n[credential]\n\thelper = {canary}\n[gpg]\n\tprogram = {canary}\n'
        f"[commit]\n\tgpgSign = true\n[push]\n\tgpgSign = if-asked\n[alias]\n\tpush = !{canary}\n\tfetch = !{canary}\n"
        f"[uploadpack]\n\tpackObjectsHook = {canary}\n[sequence]\n\teditor = {canary}\n"
    )  # fmt: skip


def hooks_in(folder: Path, canary: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = ("pre-push", "post-index-change", "reference-transaction", "post-commit", "pre-commit", "post-checkout",
             "update", "pre-receive", "post-update", "fsmonitor-watchman", "commit-msg", "post-merge")  # fmt: skip
    for name in names:
        (folder / name).write_text(f"#!/bin/sh\nexec {canary} {name}\n")
        (folder / name).chmod(0o755)


async def fixed(crew: Crew) -> str:
    await crew.fix({"app.py": WHAT})
    await crew.publish()
    return crew.last(FixPushed).sha


def test_inv_23_a_repository_full_of_traps_runs_nothing(
    sqlite_book: Book, scene: Scene, tmp_path: Path, canary: Path
) -> None:
    traps = {
        ".gitattributes": "* filter=evil diff=evil merge=evil\n*.py ident working-tree-encoding=UTF-16\n",
        ".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = https://example.org/x\n',
        ".githooks/pre-push*": f"#!/bin/sh\n{canary}\n",
        "bare/HEAD": "ref: refs/heads/main\n",
        "bare/config": settings_of(canary),
        "bare/objects/x": "",
        "bare/refs/x": "",
    }
    scene.pull.push(traps, by="alice")

    async def story() -> str:
        async with publishing(sqlite_book, scene, tmp_path) as crew:
            return await fixed(crew)

    assert asyncio.run(story()) == scene.pull.head
    assert scene.repo.read("app.py", "feature") == WHAT


def test_inv_23_what_git_takes_for_a_trap_is_not_even_fetched(
    sqlite_book: Book, scene: Scene, tmp_path: Path, canary: Path
) -> None:
    scene.pull.push({".gitmodules": f'[submodule "x"]\n\tpath = x\n\turl = y\n\tupdate = !{canary}\n'}, by="alice")

    async def story() -> Failure:
        async with publishing(sqlite_book, scene, tmp_path) as crew:
            await crew.fix({"app.py": WHAT})
            await crew.publish()
            return crew.last(PushRefused).reason

    assert asyncio.run(story()) is Failure.REFUSED


def test_inv_23_neither_do_hooks_and_settings_beside_our_own_copy(
    sqlite_book: Book, scene: Scene, tmp_path: Path, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(settings_of(canary))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(canary))
    monkeypatch.setenv("GIT_ASKPASS", str(canary))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(canary))
    monkeypatch.setenv("GIT_PROXY_COMMAND", str(canary))

    async def story() -> str:
        async with publishing(sqlite_book, scene, tmp_path) as crew:
            repository = crew.answers.publisher.repositories.of(scene.repo.id)
            await repository.ensure()
            hooks_in(repository.folder / "hooks", canary)
            hooks_in(tmp_path / "hooks", canary)
            return await fixed(crew)

    assert asyncio.run(story()) == scene.pull.head


def test_inv_22_replaced_objects_are_not_believed(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    async def story() -> bytes:
        async with publishing(sqlite_book, scene, tmp_path) as crew:
            repository = crew.answers.publisher.repositories.of(scene.repo.id)
            await crew.fix({"app.py": WHAT})
            await repository.ensure()
            old, evil = await repository.write(LINES.encode()), await repository.write(b"evil\n")
            await repository.name(f"refs/replace/{old}", evil)
            await crew.publish()
            return await repository.read(old)

    assert asyncio.run(story()) == LINES.encode()
    assert (scene.repo.read("app.py", "feature"), scene.repo.read("old.py", "feature")) == (WHAT, LINES.encode())


def test_inv_25_links_and_submodules_stay_as_they_are(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    folder, git = scene.repo.of.folder, scene.double.world.git
    link = git._run(folder, "hash-object", "-w", "--stdin", data=b"/etc/passwd").decode().strip()
    tree = git._run(folder, "ls-tree", scene.pull.head).decode()
    tree += f"120000 blob {link}\tlink\n160000 commit {'1' * 40}\tsub\n"
    made = git._run(folder, "mktree", "--missing", data=tree.encode()).decode().strip()
    people = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    sha = git._run(folder, "commit-tree", made, "-p", scene.pull.head, "-m", "Links", extra=people).decode().strip()
    scene.repo.point("feature", sha, by="alice")

    async def story() -> None:
        async with publishing(sqlite_book, scene, tmp_path) as crew:
            await fixed(crew)

    asyncio.run(story())
    after = git._run(folder, "ls-tree", scene.pull.head).decode()
    assert f"120000 blob {link}\tlink" in after
    assert f"160000 commit {'1' * 40}\tsub" in after


@pytest.mark.parametrize("where", [".git", "src/.git", "bare"])
def test_inv_23_a_repository_in_the_workspace_runs_nothing(
    scene: Scene, tmp_path: Path, canary: Path, where: str
) -> None:
    def act(path: Path) -> None:
        target = path / where
        target.parent.mkdir(exist_ok=True)
        subprocess.run(["git", "init", "--quiet", *(["--bare"] if where == "bare" else []), target], check=True)
        git = target if where == "bare" else target / ".git"
        (git / "config").write_text("[core]\n\tbare = false\n\tworktree = ..\n" + settings_of(canary))
        hooks_in(git / "hooks", canary)
        (path / ".gitattributes").write_text("* filter=evil diff=evil\n")

    async def story() -> None:
        repository = await mirrored(scene, tmp_path)
        workspaces = Workspaces(tmp_path / "ws")
        for _ in range(2):
            async with workspaces.ready("1-pr-1", repository, scene.pull.head) as workspace:
                act(workspace.path)
                await workspace.changes()

    asyncio.run(story())


async def mirrored(scene: Scene, tmp_path: Path) -> Repository:
    repository = Repositories(tmp_path / "git").of(scene.repo.id)
    async with Client(scene.app_settings) as client:
        refs = [f"+refs/pull/{scene.pull.number}/head:refs/amends/pull"]
        await Access(client, PUSHING).using(scene.repo.id, lambda remote: repository.fetch(remote, refs))
    return repository


def test_inv_21_no_process_shows_the_token(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    """Every argument and environment of every process, read while GitHub is answering."""
    seen: list[bytes] = []

    def snoop(asked: object) -> None:
        for file in ("cmdline", "environ"):
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    seen.append((process / file).read_bytes())
                except OSError:
                    continue

    async def story() -> None:
        async with publishing(sqlite_book, scene, tmp_path) as crew:
            await crew.fix({"app.py": WHAT})
            scene.double.before_request = lambda asked: snoop(asked) if ".git/" in asked.path else None
            await crew.publish()

    asyncio.run(story())
    tokens = [token.encode() for token in scene.double.world.grants]
    assert any(b"git-remote-http" in one for one in seen)
    assert [token for token in tokens if any(token in one for one in seen)] == []


def test_inv_21_nothing_is_left_of_the_token_on_disk(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    async def story() -> None:
        async with publishing(sqlite_book, scene, tmp_path) as crew:
            await fixed(crew)

    asyncio.run(story())
    tokens = [token.encode() for token in scene.double.world.grants]
    files = [file.read_bytes() for file in (tmp_path / "publisher").rglob("*") if file.is_file()]
    assert (len(files) > 5, [token for token in tokens if any(token in one for one in files)]) == (True, [])


@pytest.mark.parametrize("left", ["token-x", "askpass-x"], ids=["now", "before 2026-11-19"])
def test_inv_21_what_a_killed_process_left_of_a_token_is_taken_away(scene: Scene, tmp_path: Path, left: str) -> None:
    async def story() -> list[Path]:
        repository = await mirrored(scene, tmp_path)
        (repository.folder / left).mkdir()
        (repository.folder / left / "header").write_text("s3cret-token")
        async with repository.locked():
            return list(repository.folder.glob("*-x"))

    assert asyncio.run(story()) == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/a/b.git/c", "http://127.0.0.1:1/a", "http://127.0.0.1:2/a/b.git"])
def test_inv_21_git_says_the_token_to_one_repository_only(tmp_path: Path, url: str) -> None:
    def said(of: str) -> str:
        command = ["git", *(part for one in settings for part in ("-c", one)), "config", "--get-urlmatch"]
        done = subprocess.run([*command, "http.extraHeader", of], capture_output=True, text=True, check=False)
        return done.stdout

    with told(tmp_path, Remote("http://127.0.0.1:1/a/b.git", "s3cret-token")) as settings:
        assert said("http://127.0.0.1:1/a/b.git").startswith("Authorization: Basic ")
        assert bool(said(url)) is url.endswith("/c")  # what is below it is it
        [private] = tmp_path.iterdir()
        modes = {path.name: oct(path.stat().st_mode & 0o777) for path in (private, *private.iterdir())}
        assert modes == {private.name: "0o700", "header": "0o600"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url", ['http://127.0.0.1:1/a"b.git', "http://127.0.0.1:1/a\\b.git", "http://127.0.0.1:1/a\nb"]
)
def test_inv_21_an_address_that_would_be_settings_is_none(tmp_path: Path, url: str) -> None:
    with pytest.raises(BadAddress), told(tmp_path, Remote(url, "s3cret-token")):
        pass


def test_inv_08_a_redirect_elsewhere_gets_no_token(scene: Scene, tmp_path: Path) -> None:
    """Whoever answers in the name of GitHub and leads elsewhere is not followed, and told nothing there."""
    import http.server  # noqa: PLC0415
    import threading  # noqa: PLC0415

    heard: list[str | None] = []

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(self.headers.get("authorization"))
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="GitHub"')
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    class Redirecting(Elsewhere):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{elsewhere.server_port}{self.path}")
            self.end_headers()

    elsewhere, here = (http.server.ThreadingHTTPServer(("127.0.0.1", 0), one) for one in (Elsewhere, Redirecting))
    for server in (elsewhere, here):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    remote = Remote(f"http://127.0.0.1:{here.server_port}/acme/widget.git", "s3cret-token")
    try:
        with pytest.raises(Renamed):
            asyncio.run(Repositories(tmp_path).of(1).fetch(remote, ["+refs/heads/main:refs/amends/x"]))
    finally:
        for server in (elsewhere, here):
            server.shutdown()
            server.server_close()
    assert heard == []


def unsafe(scene: Scene) -> str:
    """A commit on the branch whose tree has what git takes over nowhere: a folder that is called like its own."""
    folder = scene.repo.of.folder

    def git(*arguments: str, data: bytes = b"") -> str:
        done = subprocess.run(["git", f"--git-dir={folder}", *arguments], input=data, capture_output=True, check=True)
        return done.stdout.decode().strip()

    blob = git("hash-object", "-w", "--stdin", data=b"[core]\n")
    inner = git("mktree", data=f"100644 blob {blob}\tconfig\n".encode())
    raw = b"40000 .git\0" + bytes.fromhex(inner)
    tree = git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", data=raw)
    named = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    scene.repo.point("feature", git(*named, "commit-tree", tree, "-p", scene.pull.head, data=b"evil\n"))
    return scene.pull.head


def test_inv_25_a_branch_with_objects_made_to_do_harm_is_not_taken_over(
    sqlite_book: Book, scene: Scene, tmp_path: Path
) -> None:
    async def story() -> PushRefused:
        async with publishing(sqlite_book, scene, tmp_path) as crew:
            await crew.fix({"app.py": WHAT})
            unsafe(scene)
            await crew.publish()
            return crew.last(PushRefused)

    refused = asyncio.run(story())
    assert (refused.reason, "fsck" in refused.detail) == (Failure.REFUSED, True)


def test_inv_25_the_fixer_does_not_take_it_over_either(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    async def story() -> tuple[FixFailed, Escalated]:
        async with fixing(sqlite_book, scene, tmp_path, None) as bench:
            unsafe(scene)
            scene.pull.review("bob", "changes_requested", "Louder.")
            await bench.fixed()
            return bench.desk.last(FixFailed), bench.desk.last(Escalated)

    failed, escalated = asyncio.run(story())
    assert (failed.reason, escalated.reason) == (Failure.REFUSED, "refused")
    assert "fsck" in escalated.detail


def test_rel_22_a_fixers_copy_that_is_broken_is_made_anew_within_the_attempt(
    sqlite_book: Book, scene: Scene, tmp_path: Path
) -> None:
    async def story() -> object:
        scene.pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": 10, "body": suggests("X")}])
        async with fixing(sqlite_book, scene, tmp_path, None) as bench:
            folder = tmp_path / f"fixer/repositories/{scene.repo.id}.git"
            folder.mkdir(parents=True)
            (folder / "HEAD").write_text("nonsense")
            return await bench.fixed()

    assert isinstance(asyncio.run(story()), FixPrepared)
