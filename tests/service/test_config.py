"""A configuration with a mistake is refused, and says which; one in range is taken."""

from __future__ import annotations

import typing

import pytest

from bothworlds.errors import InvalidArgumentError
from bothworlds.service.config import Config, read_config


def refused(path, text):
    path.write_text(text)
    with pytest.raises(InvalidArgumentError) as caught:
        read_config(path, environment={})
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[limits]\nrate_per_key = -1", ("limits.rate_per_key of ", "must be `float` > 0.0, got -1;")),
        ("[limits]\nmax_queue = 0", ("limits.max_queue of ", "must be `int` >= 1, got 0;")),
        ("[server]\nmax_body = -5", ("server.max_body of ", "must be `int` >= 1, got -5;")),
        ("[server]\nport = 70000", ("server.port of ", "must be `int` <= 65535, got 70000;")),
        ("[server]\nport = 'many'", ("server.port of ", "must be `int`, got `str` 'many'")),
        ("[server]\nworkers = 0", ("server.workers of ", "got 0", "BOTHWORLDS_SERVER_WORKERS")),
        ("[storage]\nrefresh = inf", ("storage.refresh of ", "must be a finite number at least 0, got inf")),
        ("[server]\ngrace = -1", ("server.grace of ", "must be a finite number at least 0, got -1.0")),
        ("[limits]\nmax_streams = -1", ("limits.max_streams of ", "at least 0, got -1")),
        ("[storage]\nrefresh = nan", ("storage.refresh of ", "must be `float` > 0.0, got nan")),
        ("[storage]\nretention = 0.5", ("storage.retention of ", "must be 0 or at least 1 day, got 0.5")),
        ("[log]\nlevel = 'loud'", ("log.level of ", "'debug', 'error', 'info', 'warning', got 'loud'")),
        ("[server]\nprot = 1", ("server.prot of ", "did you mean 'port'? Known: host, port,")),
        ("[sever]\nport = 1", ("sever of ", "did you mean 'server'? Known: server, storage,")),
        ("server = 1", ("server of ", "must be `object`, got `int` 1")),
    ],
)
def test_what_is_wrong_is_said_with_its_section_its_value_and_what_is_allowed(tmp_path, text, words):
    said = refused(tmp_path / "service.toml", text)
    assert all(word in said for word in (*words, "service.toml")), said


def test_values_of_the_environment_are_held_to_the_same(tmp_path):
    with pytest.raises(InvalidArgumentError, match=r"limits\.max_queue must be `int` >= 1, got '0'"):
        read_config(environment={"BOTHWORLDS_LIMITS_MAX_QUEUE": "0"})
    with pytest.raises(InvalidArgumentError, match=r"storage\.url must be `str`, got something else"):
        read_config(environment={}, storage={"url": ["postgresql://bw:hunter2@db/x"]})


def test_every_number_has_a_range():
    for table, kind in typing.get_type_hints(Config).items():
        for name, hint in typing.get_type_hints(kind).items():
            if hint in (int, float):
                for value in (-5, "inf", "nan"):
                    with pytest.raises(InvalidArgumentError, match=f"{table}.{name}"):
                        read_config(environment={}, **{table: {name: value}})
