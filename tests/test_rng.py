"""Uniforms inside kernels: known answers, the same compiled or not, and uniform."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bothworlds import rng
from bothworlds._jit import entry
from oracle import draws

ONES = 0xFFFFFFFF


@entry
def block(key0, key1, counter0, counter1):
    return rng.threefry(key0, key1, counter0, counter1)


@entry
def fill(uniform, first, out):
    for i in range(out.size):
        out[i] = rng.expand(uniform, first + i)


def expanded(uniform, n, first=0):
    out = np.empty(n)
    fill(uniform, first, out)
    return out


@pytest.mark.parametrize(
    ("key", "counter", "answer"),
    [  # kat_vectors of Random123, threefry2x32 20
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((ONES, ONES), (ONES, ONES), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_threefry_gives_the_published_answers(key, counter, answer):
    assert block(*key, *counter) == answer
    assert block.py_func(*key, *counter) == answer
    assert draws.threefry(key, counter) == answer


def test_blocks_of_uniforms_have_the_bits_of_numpy():
    paths = [(), (0, 3), (2**70,)]
    blocks, streams = rng.Uniforms(7, *paths), [rng.stream(7, *path) for path in paths]
    for shape in [(1,), (2,), (3,), (4,), (5,), (0,), (40, 3), (7, 1), (6,), (64,), (1,)]:
        expected = [stream.random(shape) for stream in streams]
        np.testing.assert_array_equal(blocks.draw(*shape), expected)


@pytest.mark.parametrize("width", [0, 1, 3])
def test_rows_are_those_of_the_stream_wherever_it_is_asked_for_its_position(width):
    rows, stream = rng.Rows(rng.stream(7, 2), width), rng.stream(7, 2)
    for n in [0, 1, 5, 63, 64, 65, 130, 1]:
        for _ in range(n):
            assert rows.take().tolist() == stream.random(width).tolist()
        assert rng.to_dict(rows.generator) == rng.to_dict(stream)
        assert rows.generator.random((n, 2)).tolist() == stream.random((n, 2)).tolist()


def test_words_of_64_bits():
    top = 2**64 - 1
    assert rng.plus(top, 5) == 4
    assert rng.times(top, top) == (top - 1, 1)


def test_expand_is_the_same_compiled_in_python_and_in_the_oracle():
    numbers = np.random.default_rng(0)
    for uniform in [0.0, 0.5, 1 - 2.0**-53, *numbers.random(20)]:
        for counter in [0, 1, 2**32 - 1, 2**32, 2**53 + 7, 2**63 - 1]:
            expected = draws.expand(uniform, counter)
            plain = np.empty(1)
            fill.py_func(uniform, counter, plain)
            assert plain[0] == expected
            assert expanded(uniform, 1, counter)[0] == expected
            assert 0.0 < expected < 1.0
            assert (expected * 2**53) % 2 == 1


@pytest.mark.compiled
@pytest.mark.parametrize("uniform", [0.0, 0.25, 0.3333, 1 - 2.0**-53])
def test_expanded_numbers_are_uniform_and_independent(uniform):
    values = expanded(uniform, 200_000)
    assert stats.kstest(values, "uniform").pvalue > 1e-4
    pairs = np.histogram2d(values[:-1], values[1:], bins=16, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(pairs.ravel()).pvalue > 1e-4
    low_bits = (values * 2**52).astype(np.int64) & 255
    assert stats.chisquare(np.bincount(low_bits, minlength=256)).pvalue > 1e-4


@pytest.mark.compiled
def test_neighboring_uniforms_expand_to_independent_numbers():
    first = np.array([expanded(k * 2.0**-53, 1)[0] for k in range(20_000)])
    assert stats.kstest(first, "uniform").pvalue > 1e-4
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 4 / np.sqrt(20_000)
