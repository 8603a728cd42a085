"""Keys that are good, over, revoked or the last one; what the commands say of them."""

from __future__ import annotations

import io
import re
import time

import httpx
import pytest
import typer
from rich.console import Console

from bothworlds import cli
from bothworlds.service import cli as service_cli
from bothworlds.service import problems
from bothworlds.service.http import auth
from bothworlds.service.registry import Key, Registry
from serving import Served


@pytest.fixture
def url(fast_folder):
    return f"sqlite:///{fast_folder / 'service.db'}"


@pytest.fixture
def registry(url):
    one = Registry(url)
    yield one
    one.close()


def say(*arguments, width):
    """What a command prints into a pipe."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service_cli, "out", Console(file=(said := io.StringIO()), width=width))
        cli.app(arguments, standalone_mode=False)
    return said.getvalue()


# --- the link of a start --------------------------------------------------------------------------------


def board_line(served):
    """What a start says of the board; its port is kept, and `serve` says it before it answers."""
    (line,) = (line for line in served.output.read_text().splitlines() if line.startswith("Board:"))
    return line


def test_a_start_shows_a_link_that_opens_or_says_why_there_is_none(fast_folder, url, registry):
    registry.new_key("decider")
    over, _ = registry.new_key("viewer", days=1e-9)
    served = Served(fast_folder)
    said = board_line(served)
    assert "/board#" not in said
    assert "bothworlds service key new --role admin" in said
    assert served.stop() == 0

    registry.new_key("viewer")
    admin, _ = registry.new_key("admin")
    served.start()
    link = re.search(r"/board#(\S+)", board_line(served))[1]
    assert link.split(".")[1] == admin.id
    with httpx.Client(base_url=served.base, timeout=60) as browser:
        assert browser.post("/v1/sessions", json={"link": link}).status_code == 204
        assert browser.get("/v1/experiments").status_code == 200

        dead = auth.Doorkeeper(rate=1.0, secret=auth.signing_secret(registry)).link(over.id)
        refused = browser.post("/v1/sessions", json={"link": dead})
        assert refused.status_code == 401
        assert refused.json()["detail"] == (
            f"the key {over.id} of this link is over: ask for a link with another key"
        )
    assert served.stop() == 0


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"revoked": 1.0}, "was revoked"),
        ({"expires": 1.0}, "is over"),
        ({"role": "decider"}, "is of a decider, who must not read"),
        ({"id": "other"}, "is not known here"),
    ],
)
def test_a_link_opens_nothing_without_a_good_key(change, why):
    key = Key("k", 1, "default", "viewer", bytes(32), "", time.time(), None, None)
    door = auth.Doorkeeper(rate=10.0, secret=b"s" * 32)
    link = door.link("k")
    door.know([key._replace(**change)])
    with pytest.raises(problems.UnauthorizedError, match=why):
        door.session(link)
    door.know([key])
    assert door.session(link)  # it was not used up


# --- the list -------------------------------------------------------------------------------------------


def test_ids_and_times_of_the_list_are_whole_in_a_pipe(url, registry):
    made, _ = registry.new_key("admin", label="[bold]x[/bold] " * 10, days=3.0)
    _, row = say("service", "key", "list", "--database", url, width=40).splitlines()
    assert row.split()[0] == made.id
    assert len(re.findall(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", row)) == 2
    assert made.label.strip() in row
    assert "Revoked" in say("service", "key", "revoke", row.split()[0], "--database", url, width=40)


def test_the_doctor_counts_keys_and_says_its_advice_whole(url, registry):
    for _ in range(2):
        registry.new_key("decider")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bothworlds._jit.can_compile", lambda: False)
        patch.setattr(service_cli, "out", Console(file=(told := io.StringIO()), width=200))
        with pytest.raises(typer.Exit):
            service_cli.doctor(url)
    assert "2 keys, 0 of admins" in told.getvalue()
    assert "pip install 'bothworlds[fast]'" in told.getvalue()


# --- the last admin -------------------------------------------------------------------------------------


def test_the_last_good_admin_key_stays(fast_folder, url, registry):
    served = Served(fast_folder)
    with served.client() as client:
        (first,) = client.get("/v1/keys").json()["keys"]
        client.post("/v1/keys", json={"role": "editor"}).raise_for_status()
        registry.new_key("admin", days=1e-9)
        registry.new_key("admin", project="another")
        refused = client.delete(f"/v1/keys/{first['id']}")
        assert refused.status_code == 409
        assert refused.json()["type"] == "/problems/last-admin-key"
        assert "bothworlds service key new --role admin --project default" in refused.json()["detail"]
        second = client.post("/v1/keys", json={"role": "admin"}).json()
        assert client.delete(f"/v1/keys/{first['id']}").status_code == 204
    with served.client(second["key"]) as client:
        assert client.delete(f"/v1/keys/{first['id']}").status_code == 204  # again
        assert client.delete(f"/v1/keys/{second['id']}").status_code == 409
        noted = client.get("/v1/audit").json()["entries"]
        assert second["id"] in [row["target"] for row in noted if row["action"] == "new key"]
    assert served.stop() == 0


def test_two_who_revoke_at_once_leave_an_admin(store_url):
    from concurrent.futures import ThreadPoolExecutor

    kept = Registry(store_url)
    made = [kept.new_key("admin")[0].id for _ in range(6)]

    def revoke(identity):
        try:
            kept.revoke(identity, "default", keep_an_admin=True)
        except problems.LastAdminKeyError:
            return identity
        return None

    with ThreadPoolExecutor(6) as pool:
        stayed = [identity for identity in pool.map(revoke, made) if identity]
    assert len(stayed) == 1
    assert [key.id for key in kept.known_keys() if key.is_good(time.time())] == stayed
    kept.close()
