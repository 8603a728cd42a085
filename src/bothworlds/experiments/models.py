"""pydantic models of experiment files, made from the dataclasses in the registries."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import MISSING
from typing import Annotated, Any, Literal, TypeAlias, Union

try:
    from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter, create_model
except ImportError as error:
    raise ImportError("experiment files need the extra 'lab': pip install 'bothworlds[lab]'") from error

from bothworlds._value import plain
from bothworlds.experiments.shapes import AS_WRITTEN, FAMILIES, Shape, nesting, shapes

ONE, MANY = "<one>", "<many>"  # tags of a value and of a sweep; they are cut from the places of mistakes
CONFIG = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
RECORDS = ("regret", "probabilities")


def one_or_many(one: Any, depth: int = 0) -> Any:
    """A value, or a list of them; decided by how deep the lists are, so that mistakes are told once."""
    if depth == AS_WRITTEN:
        return one

    def tag(value: Any) -> str:
        return MANY if nesting(value) > depth else ONE

    many = Annotated[list[one], Field(min_length=1), Tag(MANY)]
    return Annotated[Annotated[one, Tag(ONE)] | many, Discriminator(tag)]


Count: TypeAlias = Annotated[int, Field(ge=1, le=10**15)]  # 10^15 rounds take years, and every float has them


class Head(BaseModel):
    """Everything of a file but the content of its [[policy]] and [[environment]] tables."""

    model_config = CONFIG

    title: str = Field(
        "", description="Heads tables, figures and the report; by default the name of the file."
    )
    description: str = Field("", description="What the study is about, for the report.")
    horizon: one_or_many(Count) = Field(  # type: ignore[valid-type]
        description="The number of rounds of a run; a list is a sweep."
    )
    replications: Count = Field(description="How many independent runs of every cell.")
    seed: int = Field(0, ge=0, description="Decides everything random.")
    checkpoints: one_or_many(Count) | None = Field(  # type: ignore[valid-type]
        None,
        description="At how many rounds, evenly spaced on a log scale, results are kept (by default 100), "
        "or at which: a list of rounds. The horizon is always among them.",
    )
    record: list[Literal["regret", "probabilities"]] = Field(
        ["regret", "probabilities"],
        description="What is kept: regret always; probabilities are the distribution over arms in the first "
        "replication of every cell.",
    )
    tell_horizon: bool = Field(True, description="Whether policies are told the horizon.")
    modules: list[str] = Field(
        [], description="Python files with policies and environments of your own, relative to this file."
    )
    policy: list[dict[str, Any]] = Field(min_length=1, description="The policies to compare.")
    environment: list[dict[str, Any]] = Field(min_length=1, description="The worlds to compare them in.")


class Models:
    """One model per registered class, and an adapter per family that chooses among them by ``kind``."""

    def __init__(self, kinds: dict[str, dict[str, type]]) -> None:
        self.namespace: dict[str, Any] = {}
        models: list[type[BaseModel]] = []
        for family, classes in kinds.items():
            choices = tuple(_model(family, kind, cls) for kind, cls in classes.items())
            models += choices
            self.namespace[reference(family)] = Annotated[Union[choices], Field(discriminator="kind")]  # noqa: UP007
        for model in models:  # parts may hold parts: their names are known only now
            model.model_rebuild(_types_namespace=self.namespace)
        self.adapters = {
            family: TypeAdapter(self.namespace[reference(family)]) for family in ("policy", "environment")
        }


def models() -> Models:
    """The models of everything registered now."""
    return _models(tuple((name, tuple(family.registry.items())) for name, family in FAMILIES.items()))


@functools.lru_cache(maxsize=4)
def _models(kinds: tuple[tuple[str, tuple[tuple[str, type], ...]], ...]) -> Models:
    return Models({name: dict(classes) for name, classes in kinds})


def reference(family: str) -> str:
    """What the union of a family's models is called."""
    return f"{family.title()}Table"


def model_name(family: str, kind: str) -> str:
    """What the model of a kind is called.

    >>> model_name("policy", "tsallis-inf")
    'PolicyTsallisInf'
    """
    return family.title() + "".join(word.title() for word in re.split(r"\W+", kind))


def _model(family: str, kind: str, cls: type) -> type[BaseModel]:
    """A model with the fields of the class. Attributes get a prefix, so that no field name can clash."""
    told = parameter_docs(cls)
    parts: dict[str, Any] = {"kind": (Literal[kind], Field())}
    if family in ("policy", "environment"):
        text = "What it is called in tables and figures; swept settings are appended."
        parts["field_label"] = (
            Annotated[str, Field(min_length=1)],
            Field("", alias="label", description=text),
        )
    for key, shape in shapes(cls).items():
        one = reference(shape.family) if shape.family else shape.type
        default = ... if shape.required else _json_default(shape)
        swept = _late(one) if shape.family else one_or_many(one, shape.depth)
        parts[f"field_{key}"] = (swept, Field(default, alias=key, description=told.get(key)))
    summary = (inspect.getdoc(cls) or cls.__name__).partition("\n")[0]
    return create_model(
        model_name(family, kind), __config__=CONFIG, __doc__=summary, __module__=__name__, **parts
    )


def _late(reference: str) -> Any:
    """A part or a list of them, where its models do not exist yet."""
    one = Annotated[reference, Tag(ONE)]  # type: ignore[valid-type]
    many = Annotated[f"list[{reference}]", Field(min_length=1), Tag(MANY)]  # type: ignore[valid-type]
    tag: Callable[[Any], str] = lambda value: MANY if isinstance(value, list) else ONE  # noqa: E731
    return Annotated[one | many, Discriminator(tag)]


def _json_default(shape: Shape) -> Any:
    """The default for the schema; validation only keeps what a file says."""
    value = shape.default
    return None if value is MISSING or hasattr(value, "parameters") else plain(value)


def parameter_docs(cls: type) -> dict[str, str]:
    """What the section "Parameters" of a docstring says of each field, in one line each."""
    found: dict[str, str] = {}
    names: list[str] = []
    section = (inspect.getdoc(cls) or "").partition("Parameters\n----------\n")[2]
    for line in section.splitlines():
        if line.startswith("---") or (line and not line.startswith(" ") and not line.endswith(":")):
            break  # the next section
        if line and not line.startswith(" "):
            names = [name.strip() for name in line.rstrip(":").split(",")]
        elif names:
            for name in names:
                found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    # a hover text is plain: without tables and doubled quotes
    return {name: text.partition(" ====")[0].replace("``", "") for name, text in found.items()}
