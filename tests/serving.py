"""A service in a process of its own, on a loopback port that the system chose."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import httpx

import bothworlds
from bothworlds.service.registry import Registry

SOURCE = str(Path(bothworlds.__file__).parents[1])


class Served:
    """``bothworlds serve`` in a folder; it ends with the test."""

    def __init__(self, folder, *arguments, url=None, port=0, environment=None):
        self.folder = Path(folder)
        self.url = url or f"sqlite:///{self.folder / 'service.db'}"
        self.arguments = arguments
        self.environment = environment or {}
        self.port = port
        self.process = None
        self.key = None
        self.start()

    def start(self):
        """Start it, and wait until it answers."""
        self.output = self.folder / f"output-{time.monotonic_ns()}"
        self.log = self.folder / "log"
        environment = os.environ | {
            "PYTHONPATH": SOURCE,
            "BOTHWORLDS_COMPILE": "never",
            "NUMBA_DISABLE_JIT": "1",
            "BOTHWORLDS_STORAGE_MIN_FREE": "1000000",
            **self.environment,
        }
        command = [sys.executable, "-m", "bothworlds", "serve", "--port", str(self.port)]
        with self.output.open("w") as output, self.log.open("a") as log:
            self.process = subprocess.Popen(
                [*command, "--database", self.url, *self.arguments],
                stdout=output,
                stderr=log,
                env=environment,
                cwd=self.folder,
            )
        found = self._wait_for(lambda: re.search(r" at http://127\.0\.0\.1:(\d+)", self.output.read_text()))
        self.port = int(found[1])
        self.base = f"http://127.0.0.1:{self.port}"
        shown = re.search(r"Admin key, shown this once: (\S+)", self.output.read_text())
        if shown:
            self.key = shown[1]
        self._wait_for(self._answers)

    def _answers(self):
        try:
            with urllib.request.urlopen(f"{self.base}/livez") as answer:
                return answer.status == 200
        except OSError:
            return False

    def _wait_for(self, look, seconds=180):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = look()
            if found:
                return found
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.02)
        raise AssertionError(self.log.read_text())

    def client(self, key=None, **options):
        """An HTTP client with a key; the first admin key if none is given."""
        headers = {"Authorization": f"Bearer {key or self.key}"}
        return httpx.Client(base_url=self.base, headers=headers, timeout=60, **options)

    def new_key(self, role, project="default"):
        """A key that the service knows within a second; wait for it."""
        registry = Registry(self.url)
        _, text = registry.new_key(role, project=project)
        registry.close()

        def known():
            return client.get("/v1/keys").status_code != 401

        with self.client(text) as client:
            self._wait_for(known)
        return text

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Tell it to stop; the status of its end."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)
