"""The Dockerfile and the compose file as text; `make container` builds the image and runs it."""

from __future__ import annotations

import ast
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from bothworlds.service.config import read_config
from bothworlds.service.http.routes import ENDPOINTS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def instructions():
    """Instructions and their arguments, lines joined, of the last stage and of all before it."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.M).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def last_stage(instructions):
    begin = max(i for i, (word, _) in enumerate(instructions) if word == "FROM")
    return dict(instructions[begin:]), instructions[begin:]


def environment_of(instructions):
    said = " ".join(text for word, text in instructions if word == "ENV")
    return dict(pair.split("=", 1) for pair in said.split())


def test_the_image_is_not_root_and_writes_to_its_volume(instructions):
    stage, listed = last_stage(instructions)
    assert stage["USER"] == "10001:10001"
    assert "--uid 10001 --gid 10001" in stage["RUN"]
    assert stage["VOLUME"] == stage["WORKDIR"] == "/data"
    environment = environment_of(listed)
    config = read_config(environment=environment)
    assert config.storage.url == "sqlite:////data/bothworlds.db"
    assert config.storage.exports.startswith("/data/")
    assert config.is_public
    assert stage["EXPOSE"] == str(config.server.port)
    known = {
        "BOTHWORLDS_CACHE_DIR",
        "BOTHWORLDS_SERVER_HOST",
        "BOTHWORLDS_STORAGE_URL",
        "BOTHWORLDS_STORAGE_EXPORTS",
    }
    assert {name for name in environment if name.startswith("BOTHWORLDS")} == known
    build = environment_of(instructions[: len(instructions) - len(listed)])
    assert build["BOTHWORLDS_CACHE_DIR"] == environment["BOTHWORLDS_CACHE_DIR"]


def test_health_is_asked_of_an_endpoint(instructions):
    stage, _ = last_stage(instructions)
    port, method, path = re.search(r"'127\.0\.0\.1', (\d+).*'(GET)', '(/\w+)'", stage["HEALTHCHECK"]).groups()
    assert (method, path, None) in {(one.method, one.path, one.right) for one in ENDPOINTS}
    assert port == stage["EXPOSE"]
    command = ast.literal_eval(stage["HEALTHCHECK"].partition("CMD ")[2])
    compile(command[2], "healthcheck", "exec")
    (warm,) = [text for word, text in instructions if word == "RUN" and "BOTHWORLDS_COMPILE=wait" in text]
    compile(re.search(r'-c "(.*)"', warm)[1].strip(), "warm", "exec")


def test_what_is_copied_is_sent(instructions):
    ignored = (ROOT / ".dockerignore").read_text().split()
    sent = [line[1:] for line in ignored if line.startswith("!")]
    for word, text in instructions:
        if word == "COPY" and "--from" not in text:
            for name in text.split()[:-1]:
                assert (ROOT / name).exists()
                assert any(fnmatch(name, pattern) for pattern in sent), name
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (wanted,) = [text.partition("=")[2] for word, text in instructions if text.startswith("EXTRAS=")]
    assert set(wanted.split(",")) <= extras.keys()


def test_the_compose_file_takes_rights_away():
    found = yaml.safe_load((ROOT / "compose.yaml").read_text())
    service = found["services"]["service"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["ports"] == ["127.0.0.1:8787:8787"]
    assert service["volumes"] == ["service:/data"]
    config = read_config(environment=service["environment"])
    assert config.storage.url.startswith("postgresql://")
    assert found["services"]["database"]["environment"]["POSTGRES_PASSWORD"].startswith(
        "${POSTGRES_PASSWORD:?"
    )


FIRST_PROCESS = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]


@pytest.mark.skipif(
    not shutil.which("unshare") or subprocess.run([*FIRST_PROCESS, "true"], check=False).returncode,
    reason="needs unshare, and the right to make process namespaces",
)
def test_the_first_process_of_a_container_ends_when_told():
    code = """
import os, signal, sys
from bothworlds.__main__ import main
sys.argv = ["bothworlds", "--help"]
try:
    main()
except SystemExit:
    os.kill(os.getpid(), signal.SIGTERM)
"""
    done = subprocess.run([*FIRST_PROCESS, sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 128 + signal.SIGTERM, done.stderr
