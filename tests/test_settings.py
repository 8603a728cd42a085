"""Fields are held to their types, in the package's classes and in anybody's."""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pytest

import bothworlds as bw
from bothworlds._value import Value, names_in
from bothworlds.errors import InvalidArgumentError, OutOfRangeError
from bothworlds.settings import Positive, UnitInterval, Within, settings_of

if TYPE_CHECKING:
    from nowhere import Nothing

FIX = Within(at_least=2, fix="a pair at least")


@dataclass(frozen=True, repr=False)
class Everything(Value):
    plain: float = 0.0
    positive: Positive = 1.0
    counted: Annotated[int, FIX] | None = None
    flag: bool = False
    word: Literal["one", "two"] = "one"
    other_word: Literal["one", "two"] | None = None
    part: bw.regularizers.Regularizer | None = None
    either: int | str = 0
    numbers: Sequence[float] = ()


@dataclass(frozen=True)
class Refined(Everything):
    share: UnitInterval = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.share > self.positive:
            raise InvalidArgumentError("share", self.share, "at most positive")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"plain": "1"}, "plain must be a number, got '1'"),
        ({"plain": True}, "plain must be a number, got True"),
        ({"plain": None}, "plain must be a number, got None"),
        ({"positive": np.inf}, "positive must be a finite number above 0, got inf"),
        ({"positive": 0}, r"positive must be a finite number above 0, got 0\.0"),
        ({"counted": 1}, "counted must be at least 2, got 1; a pair at least"),
        ({"counted": 2.5}, r"counted must be an integer, got 2\.5; a pair at least"),
        ({"flag": "yes"}, "flag must be one of True, False, got 'yes'"),
        ({"word": "tow"}, "word must be one of 'one', 'two', got 'tow'; did you mean"),
        ({"word": None}, "word must be one of 'one', 'two', got None"),
        ({"other_word": "six"}, "other_word must be one of 'one', 'two', None, got 'six'"),
        ({"part": bw.LogBarrier}, r"part must be LogBarrier\(\), .*; write LogBarrier\(\)"),
        ({"part": "tsallis"}, r"part must be LogBarrier\(\), .*, got 'tsallis'; write Tsallis\(\.\.\.\)"),
        ({"part": bw.Uniform()}, r"part must be LogBarrier\(\), .*, got Uniform\(\)"),
    ],
)
def test_what_a_type_does_not_allow_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message) as refused:
        Everything(**given)
    assert refused.value.argument in given
    assert pickle.loads(pickle.dumps(refused.value)).argument == refused.value.argument


def test_numbers_become_pythons() -> None:
    made = Everything(plain=1, positive=np.float32(0.5), counted=np.int64(3), flag=np.True_)
    assert [type(value) for value in (made.plain, made.positive, made.counted, made.flag)] == [
        float,
        float,
        int,
        bool,
    ]
    assert made == Everything(plain=1.0, positive=0.5, counted=3, flag=True)


def test_what_has_no_simple_type_is_left_as_it_is() -> None:
    numbers = [1.0, "two"]
    assert Everything(plain=np.inf).plain == np.inf  # without a range nobody has said that it must be finite
    assert Everything(either=3.5, numbers=numbers).numbers is numbers


def test_checks_of_several_fields_come_after_those_of_each() -> None:
    with pytest.raises(OutOfRangeError, match=r"share must be .* at most 1, got 2"):
        Refined(share=2)
    with pytest.raises(InvalidArgumentError, match="share must be at most positive"):
        Refined(share=0.5, positive=0.1)


def test_names_that_only_type_checkers_know_do_no_harm() -> None:
    @dataclass(frozen=True, repr=False)
    class Vague(Value):
        something: "Nothing"

    assert Vague(3).something == 3


@pytest.mark.parametrize("namespace", ["policy", "environment"])
def test_the_types_of_all_settings_are_known(namespace: str) -> None:
    """A type that cannot be read would not be checked, without a word."""
    ours = [cls for cls in names_in(namespace).values() if cls.__module__.startswith("bothworlds.")]
    assert len(ours) > 20
    for cls in ours:
        for name, setting in settings_of(cls).items():
            assert setting.type is not Any, (cls, name)
