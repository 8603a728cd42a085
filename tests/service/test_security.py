"""What docs/security.md promises and no other file tests: where secrets go, what is bounded and reached."""

from __future__ import annotations

import ast
import hmac
import json
import re
import stat
import time
import uuid
from pathlib import Path

import httpx
import msgspec
import pytest

import bothworlds.client
import bothworlds.service
from bothworlds.service import problems, registry
from bothworlds.service.config import Config, Server, read_config
from bothworlds.service.exports import Exports
from bothworlds.service.http import auth, endpoints, schemas
from bothworlds.service.http.routes import ENDPOINTS
from bothworlds.service.registry import Registry
from bothworlds.service.store import open_store

SERVICE = sorted(Path(bothworlds.service.__file__).parent.rglob("*.py"))


def imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


# --- 2: keys --------------------------------------------------------------------------------------------


def test_keys_have_256_bits_and_are_compared_in_constant_time(fast_folder, monkeypatch):
    kept = Registry(f"sqlite:///{fast_folder / 'keys.db'}")
    made = [kept.new_key("viewer") for _ in range(3)]
    kept.close()
    for key, text in made:
        identity, secret = registry.parse_key(text)
        assert identity == key.id
        assert len(secret) == 43  # 32 bytes in base64
        assert len(key.hash) == 32
    assert len({text for _, text in made}) == 3
    seen = []

    def compare(one, other):
        seen.append((len(one), len(other)))
        return one == other

    monkeypatch.setattr(hmac, "compare_digest", compare)
    key, text = made[0]
    secret = registry.parse_key(text)[1]
    assert key.opens(secret, time.time())
    assert not key.opens("", time.time())
    assert not key.opens(secret[:-1], time.time())
    assert seen == [(32, 32)] * 3  # digests, whatever was sent
    for path in SERVICE:  # and nowhere by ==
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare) and path.name in ("auth.py", "registry.py"):
                sides = {
                    getattr(side, "id", getattr(side, "attr", "")) for side in (node.left, *node.comparators)
                }
                assert not sides & {"secret", "signature", "_secret"}, (path, node.lineno)


def test_a_key_that_another_process_revokes_is_refused_within_two_seconds(served):
    text = served.new_key("viewer")
    other = Registry(served.url)
    with served.client(text) as client:
        assert client.get("/v1/experiments").status_code == 200
        other.revoke(registry.parse_key(text)[0])
        end = time.monotonic() + 20.0  # a second of the service, on a busy machine
        while client.get("/v1/experiments").status_code != 401:
            assert time.monotonic() < end
            time.sleep(0.05)
    other.close()


def test_keys_in_addresses_are_not_looked_at(served):
    identity = served.key.rsplit("_", 1)[0]
    for name in ("key", "access_token", "authorization"):
        with httpx.Client(base_url=served.base, timeout=60) as client:
            answer = client.get("/v1/experiments", params={name: served.key})
            assert answer.status_code == 401
            assert identity not in answer.text
    with served.client() as client:  # with a key that is good, they are a mistake that is not repeated
        answer = client.get("/v1/experiments", params={"key": served.key})
        assert answer.status_code == 422
        assert served.key not in answer.text


def test_a_session_reads_and_cannot_make_another(served):
    with served.client() as client:
        link = client.post("/v1/links").json()["link"]
    with httpx.Client(base_url=served.base, timeout=60) as browser:
        assert browser.post("/v1/sessions", json={"link": link}).status_code == 204
        assert browser.get("/v1/experiments").status_code == 200
        for endpoint in ENDPOINTS:
            if endpoint.method != "GET" and endpoint.right is not None:
                path = re.sub(r"\{.*?\}", str(uuid.uuid4()), endpoint.path)
                answer = browser.request(endpoint.method, path, json={})
                assert answer.status_code == 401, (endpoint.method, path)


def test_sessions_end_with_their_key_and_by_themselves(monkeypatch):
    now = time.time()
    key = registry.Key("k", 1, "default", "viewer", bytes(32), "", now, None, None)
    door = auth.Doorkeeper(rate=10.0, secret=b"s" * 32)
    door.know([key])
    cookie = {b"cookie": f"{auth.COOKIE}={door.session(door.link('k'))}".encode()}
    assert door.admit(cookie, "read").key == "k"
    door.know([key._replace(revoked=now)])
    with pytest.raises(problems.UnauthorizedError):
        door.admit(cookie, "read")
    door.know([key])
    monkeypatch.setattr(time, "time", lambda: now + auth.SESSION_SECONDS + 1.0)
    with pytest.raises(problems.UnauthorizedError):
        door.admit(cookie, "read")


# --- 3: what goes in and out ----------------------------------------------------------------------------


def structs():
    for value in vars(schemas).values():
        if isinstance(value, type) and issubclass(value, msgspec.Struct):
            yield value


def test_unknown_fields_are_refused_and_secrets_have_no_field():
    bodies = {endpoint.body for endpoint in ENDPOINTS if endpoint.body is not None}
    for body in bodies - {schemas.OfrepRequest}:  # whose protocol allows them
        assert body.__struct_config__.forbid_unknown_fields, body
    for struct in structs():
        names = set(struct.__struct_fields__)
        assert not names & {"hash_of_secret", "secret", "password", "ticket"}, struct
        if "key" in names and issubclass(struct, schemas.Key):
            assert struct is schemas.MadeKey  # shown once, by the one who made it


# --- 4: what grows is bounded ---------------------------------------------------------------------------


def test_bodies_and_batches(served):
    server = Server()
    assert (server.max_body, server.max_batch_body, Config().limits.max_batch) == (1 << 16, 1 << 20, 500)
    kind = {"Content-Type": "application/json"}
    with served.client() as client:
        for path, limit in (("/v1/keys", server.max_body), ("/v1/outcomes:batch", server.max_batch_body)):
            assert client.post(path, content=b" " * limit, headers=kind).status_code == 400
            assert client.post(path, content=b" " * (limit + 1), headers=kind).status_code == 413


def test_depth_of_contexts_is_that_of_lists_and_objects():
    nested: object = 1
    for depth in range(8):
        assert endpoints.depth_of(nested) == depth
        nested = [nested] if depth % 2 else {"a": nested, "b": 2}


def test_old_exports_go_when_new_ones_come(fast_folder):
    exports = Exports(fast_folder)
    made = []
    for _ in range(6):
        time.sleep(0.002)  # ids tell the order of what is a millisecond apart
        made.append(exports.begin("p", "e", keep=3))
        exports._write("p", made[-1], experiment="e", state="done", rows=0, files=[])
    found = [exports.find("p", identity)["state"] for identity in made[-3:]]
    assert found == ["done"] * 3
    for identity in made[:-3]:
        with pytest.raises(problems.UnknownExportError):
            exports.find("p", identity)
    under_way = exports.begin("q", "e", keep=1)
    exports.begin("q", "e", keep=1)
    assert exports.find("q", under_way)["state"] == "running"  # nobody's work is taken away


def test_exports_beyond_their_rows_fail_and_say_so(fast_folder):
    from bothworlds.service.exports import Subject
    from bothworlds.service.hub import Hub
    from bothworlds.service.settings import checked_settings
    from bothworlds.service.store import open_store

    url = f"sqlite:///{fast_folder / 'log.db'}"
    hub = Hub(open_store(url))
    settings = checked_settings(["a", "b"], "uniform")
    hub.create("e", settings)
    for _ in range(5):
        hub.decide("e")
    subject = Subject.of("e", settings, hub.learner("e").labels)
    hub.close()
    kept, exports = Registry(url), Exports(fast_folder / "exports")
    for max_export, state in ((5, "done"), (4, "failed")):
        identity = exports.begin("default", "e")
        exports.run(kept, "default", kept.project("default"), identity, subject, max_rows=max_export)
        found = exports.find("default", identity)
        assert found["state"] == state, found
    assert "4" in found["detail"]
    assert str(fast_folder) not in found["detail"]
    kept.close()


def test_links_that_were_used_are_forgotten_when_they_are_over(monkeypatch):
    door = auth.Doorkeeper(rate=10.0, secret=b"s" * 32)
    now = time.time()
    door.know([registry.Key("k", 1, "default", "viewer", bytes(32), "", now, None, None)])
    for hour in range(5):
        monkeypatch.setattr(time, "time", lambda hour=hour: now + 3601.0 * hour)
        for _ in range(3):
            door.session(door.link("k"))
        assert len(door._used) == 3


# --- 7, 9, 10: what is reached, and what is told ---------------------------------------------------------


def test_a_database_is_its_owners_alone(fast_folder):
    store = open_store(f"sqlite:///{fast_folder / 'own.db'}", fill=True)
    store.backup(fast_folder / "copy.db")
    made = {path.name: stat.S_IMODE(path.stat().st_mode) for path in fast_folder.iterdir()}
    store.close()
    assert made.keys() >= {"own.db", "own.db-wal", "copy.db"}
    assert set(made.values()) == {0o600}


def test_the_service_calls_nobody_but_its_database():
    """No module of it can: none imports a client of anything but a database."""
    clients = {
        "httpx",
        "requests",
        "aiohttp",
        "urllib.request",
        "http.client",
        "smtplib",
        "ftplib",
        "websockets",
    }
    for path in SERVICE:
        found = set(imports(ast.parse(path.read_text(encoding="utf-8"))))
        for name in found:
            assert not any(name == one or name.startswith(f"{one}.") for one in clients), (path, name)
        text = path.read_text(encoding="utf-8")
        assert "create_connection" not in text
        assert "webhook" not in text.lower()


def test_what_is_served_is_in_the_table(served):
    with served.client() as client:
        described = client.get("/openapi.json").json()["paths"]
        assert {endpoint.path.replace(":anything}", "}") for endpoint in ENDPOINTS} == described.keys()
        for path in (
            "/docs",
            "/redoc",
            "/v1",
            "/v2/experiments",
            "/static",
            "/debug",
        ):
            assert client.get(path).status_code == 404, path
    for endpoint in ENDPOINTS:
        assert re.match(
            r"/(v1|ofrep/v1)/|/(livez|readyz|metrics|openapi\.json|board|problems)\b|/\Z", endpoint.path
        )


@pytest.mark.parametrize(
    "problem",
    [
        problems.StorageUnavailableError(
            "psycopg.OperationalError: password authentication failed for user 'bw'"
        ),
        problems.StorageFullError("/secret/place/log.db: database or disk is full"),
        problems.StorageFailedError("disk I/O error in /secret/place/log.db"),
        problems.ClosedError("/secret/place/log.db is closed: SELECT secret FROM project"),
    ],
)
def test_what_a_database_says_is_not_told(problem):
    said = json.dumps(endpoints.problem_details(problem, "r-1"))
    assert problem.detail not in said
    assert "secret" not in said
    assert "psycopg" not in said


def test_a_defect_says_nothing_of_itself():
    problem = endpoints.service_error_of(KeyError("bw_id_secret"))
    assert "secret" not in json.dumps(endpoints.problem_details(problem, "r-1"))
    assert problem.status == 500


# --- 8: configuration -----------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.5.5.5"])
def test_loopback_by_default(host):
    assert Server().host == "127.0.0.1"
    assert not read_config(environment={"BOTHWORLDS_SERVER_HOST": host}).is_public
    for public in ("0.0.0.0", "::", "10.0.0.1", "example.org"):
        assert read_config(environment={"BOTHWORLDS_SERVER_HOST": public}).is_public


def test_mistakes_in_the_configuration_do_not_show_passwords():
    from bothworlds.errors import InvalidArgumentError

    environment = {"BOTHWORLDS_STORAGE_URL": "postgresql://bw:hunter2@db/x", "BOTHWORLDS_SERVER_PORT": "many"}
    with pytest.raises(InvalidArgumentError) as caught:
        read_config(environment=environment)
    assert "hunter2" not in str(caught.value)


# --- SQL ------------------------------------------------------------------------------------------------


def test_sql_is_made_of_constants_and_parameters():
    """In a string that holds SQL nothing is put but names of the program, lists of marks, and integers."""
    names = {"columns", "DECISION", "ENTRY", "REPORT", "SNAPSHOT", "only", "table", "arrays", "rest", "marks"}
    names |= {"name", "last"}  # tables whose ids are counted, and where the count stands
    constants = {"setting", "BUSY", "IDLE", "SESSION", "LOG", "SCHEMA", "lock", "newer", "OPEN", "here"}
    found = 0
    for path in SERVICE:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.JoinedStr):
                continue
            words = "".join(part.value for part in node.values if isinstance(part, ast.Constant))
            if not re.search(r"\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|PRAGMA|VALUES|AND bandit)\b", words):
                continue
            found += 1
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    inner = ast.unparse(part.value)
                    plain = inner in names | constants or re.match(
                        r"', '\.join\(\w+(\._fields)?\)$|int\(\w+\)$", inner
                    )
                    assert plain, (path.name, node.lineno, inner)
    assert found > 5
