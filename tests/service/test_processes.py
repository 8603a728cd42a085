"""Processes on one PostgreSQL that lose their connections, their server and themselves, and agree in the end.

``BOTHWORLDS_KILLS=200`` is the long version (``make torture``): four processes, and more of everything.
"""

from __future__ import annotations

import os
import random
import signal
import time

from service.servers import ask, restart
from service.test_kill import check, records_of, start

ROUNDS = max(1, int(os.environ.get("BOTHWORLDS_KILLS", "3")) // 20)
PROCESSES, STOPPED = (2, 0.5) if ROUNDS == 1 else (4, 35.0)  # long enough for the server to end its session
TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'bothworlds'"


def terminate(url, workers, chance):
    """All connections end at once, five times."""
    for _ in range(5):
        ask(url, TERMINATE)
        time.sleep(chance.uniform(0.02, 0.1))


def restart_server(url, workers, chance):
    restart()


def stop(url, workers, chance):
    """One process stands still; the others go on."""
    victim, other = chance.sample(workers, 2)
    victim.send_signal(signal.SIGSTOP)
    before = ask(url, "SELECT count(*) FROM entry")
    time.sleep(STOPPED)
    assert other.poll() is None
    for _ in range(300):  # however busy the machine is
        after = ask(url, "SELECT count(*) FROM entry")
        if after > before:
            break
        time.sleep(0.1)
    victim.send_signal(signal.SIGCONT)
    assert after > before


def test_processes_agree_whatever_happens_to_connections_server_and_processes(postgres_url, tmp_path):
    """All ask for the same, at the same time: every decision is made once, every outcome learned once.

    They find an empty database, and make one schema.
    """
    chance = random.Random(3)
    histories = [tmp_path / f"{number}.txt" for number in range(PROCESSES)]
    for seed in range(ROUNDS):
        workers = [start(postgres_url, history, seed) for history in histories]
        try:
            for worker in workers:
                assert worker.stdout.readline() == b"ready\n"
            for fault in (terminate, restart_server, stop):
                time.sleep(chance.uniform(0.1, 0.3))
                fault(postgres_url, workers, chance)
            time.sleep(0.3)
            for told in (b"ended\n", None):  # all have ended before any tells its state
                for worker in workers:
                    worker.stdin.write(b"\n")
                    worker.stdin.flush()
                if told:
                    assert [worker.stdout.readline() for worker in workers] == [told] * PROCESSES
            states = {worker.communicate()[0] for worker in workers}
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
        assert len(states) == 1
        position, _ = states.pop().split()
        assert [(int(position),)] == ask(postgres_url, "SELECT count(*) FROM entry")
        assert [worker.returncode for worker in workers] == [0] * PROCESSES
        assert any(record["state"] == "no" for history in histories for record in records_of(history))
    assert ask(postgres_url, "SELECT count(*) FROM alembic_version") == [(1,)]
    acknowledged = check(postgres_url, histories)
    assert acknowledged > 20 * ROUNDS
    print(f"{ROUNDS} rounds of {PROCESSES} processes, {acknowledged} acknowledged")
