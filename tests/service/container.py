"""`make container`: build the image, run it with no rights but those of docs/board.md, check its promises.

ENGINE is docker or podman, whichever answers if it is not given; BUILD has more arguments for its `build`.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from http.client import HTTPConnection

NAME = f"bothworlds-{os.getpid()}"  # of the container and of its volume
FOUND = (one for one in ("docker", "podman") if subprocess.getstatusoutput(f"{one} info")[0] == 0)
ENGINE = (
    os.environ.get("ENGINE") or next(FOUND, None) or sys.exit("needs docker or podman, and that it answers")
)
BUILD = ["--format", "docker"] if "podman" in ENGINE else []  # or podman drops HEALTHCHECK
RUN = ["--read-only-tmpfs=false"] if "podman" in ENGINE else []  # or podman gives more than what is asked for
RUN += ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "-p", "127.0.0.1::8787", "-v", f"{NAME}:/data"]
WARM = """
import bothworlds as bw
from bothworlds.service import monitor
bandit = bw.open("/tmp/warm.db", "warm", arms=["a", "b"])
bandit.update(bandit.pull(), reward=1.0)
bandit.close()
monitor.compile_kernels()
"""


def do(*arguments, timeout=60):
    done = subprocess.run([ENGINE, *arguments], capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stdout}{done.stderr}"
    return (done.stdout + done.stderr).strip()


def ask(method, path, body=None, key=""):
    """The answer, and the milliseconds it took."""
    service = HTTPConnection(re.search(r"127\S+", do("port", NAME))[0], timeout=30)
    begin, headers = (
        time.perf_counter(),
        {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    service.request(method, path, json.dumps(body) if method != "GET" else None, headers)
    answer = service.getresponse()
    assert answer.status < 300, answer.read()
    return json.loads(answer.read()), 1000 * (time.perf_counter() - begin)


def until(what, *arguments):
    for _ in range(600):
        with contextlib.suppress(AssertionError, OSError, TypeError):
            return what(*arguments)
        time.sleep(0.1)
    raise TimeoutError(f"{what.__name__}{arguments}\n{do('logs', NAME)}")


def check():
    do("run", "--detach", "--name", NAME, *RUN, "bothworlds")
    until(ask, "GET", "/readyz")
    (key,) = re.findall(r"bw_\S+", do("logs", NAME))
    ask("POST", "/v1/experiments", {"name": "button", "arms": ["blue", "green"]}, key)
    decision, milliseconds = ask("POST", "/v1/experiments/button/decisions", {}, key)
    print(f"first decision: {milliseconds:.0f} ms")
    ask("POST", "/v1/experiments/button/decisions:batch", {"decisions": [{}] * 200}, key)
    do("exec", "--env", "BOTHWORLDS_COMPILE=wait", NAME, "python", "-c", WARM, timeout=300)
    assert "bothworlds" not in do("exec", NAME, "ls", "/tmp"), "kernels were compiled: the image has not all"
    status = do("exec", NAME, "cat", "/proc/1/status")
    assert re.search(r"(?s)Uid:\t10001\t.*CapBnd:\t0+\n", status), status
    do("exec", NAME, "grep", "-q", " / [a-z]* ro,", "/proc/mounts")
    do("exec", NAME, *json.loads(do("inspect", NAME, "--format", "{{json .Config.Healthcheck.Test}}"))[1:])
    do("kill", "--signal", "KILL", NAME)
    do("start", NAME)
    until(ask, "GET", "/readyz")
    assert ask("GET", f"/v1/decisions/{decision['id']}", None, key)[0]["arm"] == decision["arm"]
    assert "All is as it was." in do("exec", NAME, "bothworlds", "service", "verify")
    assert do("logs", NAME).count(key) == 1, "the key is shown once"
    begin = time.perf_counter()
    do("stop", "-t", "10", NAME)
    print(f"stopped in {time.perf_counter() - begin:.1f} s")
    state = do("inspect", NAME, "--format", "{{.State.Status}} {{.State.ExitCode}}")
    assert state == "exited 0", f"{state}\n{do('logs', NAME)}"


begin = time.perf_counter()
do("build", *BUILD, *os.environ.get("BUILD", "").split(), "-t", "bothworlds", ".", timeout=1800)
size = int(do("image", "inspect", "bothworlds", "--format", "{{.Size}}")) / 1e6
print(f"{do('--version')}: {size:.0f} MB, built in {time.perf_counter() - begin:.0f} s")
try:
    check()
finally:
    for command in (["rm", "--force", NAME], ["volume", "rm", "--force", NAME]):
        subprocess.run([ENGINE, *command], capture_output=True, check=False)
