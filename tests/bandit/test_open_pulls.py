"""The table of open pulls, against a plain dictionary."""

from __future__ import annotations

import tracemalloc

import numpy as np

from bothworlds.bandit.open_pulls import OpenPull, OpenPulls


def example(number):
    return OpenPull(0.25, 0.5, number / 7, 0.0, 1e9 + number, number % 5, number % 3, 1, 2)


def test_like_a_dictionary():
    rng = np.random.default_rng(1)
    table, model, number = OpenPulls(), {}, 0
    for phase, keep in enumerate((5, 2000, 0, 300, 1, 0)):  # grow and shrink, in any order of closing
        for _ in range(3000):
            number += int(rng.integers(1, 3))
            table.add(number, example(number))
            model[number] = example(number)
            while len(model) > keep:
                open_rounds = list(model)
                at = [0, -1, int(rng.integers(len(open_rounds)))][int(rng.integers(3))]
                table.close(open_rounds[at])
                del model[open_rounds[at]]
            assert len(table) == len(model)
            assert table.oldest() == next(iter(model), None)
        assert list(table) == list(model.items()), phase
        for asked in range(number - 50, number + 2):
            assert table.get(asked) == model.get(asked)
        assert len(table._rounds) <= 2 * len(table) + 65
        assert list(table.copy()) == list(model.items())
    assert not table


def test_replace_and_copy():
    table = OpenPulls()
    rounds = list(range(1, 1001))
    for number in rounds:
        table.add(number, example(number))
    twin = table.copy()
    for number in (4, 999):  # an old one and a recent one
        table.replace(number, example(number)._replace(feedback=0.75))
        assert OpenPull._make(table.get(number)).feedback == 0.75
        assert twin.get(number) == example(number)
    for number in (3, 1000):
        table.close(number)
        assert table.get(number) is None
    assert [number for number, _ in twin] == rounds
    assert [number for number, _ in table] == [number for number in rounds if number not in (3, 1000)]


def test_an_open_pull_takes_about_seventy_bytes():
    tracemalloc.start()
    table = OpenPulls()
    for number in range(1, 100_001):
        table.add(number, example(number))
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 64 <= size / 100_000 < 80
