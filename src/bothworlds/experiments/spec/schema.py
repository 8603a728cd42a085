"""What tables may hold, read off the registered dataclasses: as types, as pydantic models, as a JSON schema.

Nothing here knows any policy or environment by name. The JSON schema is for editors: completion, hover texts
and warnings while typing. ``taplo`` and the editor extensions built on it ("Even Better TOML") read the line

    #:schema ./bothworlds.schema.json

at the top of a file. The schema knows every kind that is registered when it is written, those of installed
packages included, and the ranges of their settings.
"""

from __future__ import annotations

import copy
import functools
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

try:
    from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter, create_model
except ImportError as error:
    raise ImportError("experiment files need the extra 'lab': pip install 'bothworlds[lab]'") from error

from bothworlds._value import Value, plain, settings
from bothworlds.environments import Environment
from bothworlds.experiments.modules import load_plugins
from bothworlds.policies import Policy
from bothworlds.policies.ftrl.estimators import Estimator
from bothworlds.policies.ftrl.predictions import Predictions
from bothworlds.policies.ftrl.rates import Rates
from bothworlds.settings import Setting, settings_of
from bothworlds.simplex.regularizers import Regularizer

# what JSON schemas call the fields of Within; for editors alone: the class itself says more when it refuses
LIMITS = {
    "above": "exclusiveMinimum",
    "at_least": "minimum",
    "below": "exclusiveMaximum",
    "at_most": "maximum",
}
AS_WRITTEN = 99  # the depth of a field that takes any value: no list is deep enough to be a sweep of it


# base classes whose subclasses have names
FAMILIES: dict[str, type[Value]] = {
    "policy": Policy,
    "environment": Environment,
    "regularizer": Regularizer,
    "rates": Rates,
    "estimator": Estimator,
    "predictions": Predictions,
}


@dataclass(frozen=True)
class SettingType:
    """What one key of a table takes."""

    key: str
    type: Any
    """The type of one value, lists by nature as ``list[...]``; ``Any`` where the class alone can tell."""
    depth: int
    """How many lists a single value is nested in by nature; one more is a sweep."""
    family: str | None
    """For a part, which is a table itself, its family."""
    required: bool
    default: Any

    def is_sweep(self, value: Any) -> bool:
        """Is the value a list of alternatives?"""
        return list_depth(value) > self.depth


def list_depth(value: Any) -> int:
    """How many lists deep a value is, going by first items."""
    depth = 0
    while isinstance(value, list):
        depth += 1
        value = value[0] if value else None
    return depth


@functools.cache
def setting_types(cls: type) -> dict[str, SettingType]:
    """The keys that a table of this class takes, apart from ``kind`` and ``label``."""
    data, types_of = data_fields(cls), settings_of(cls)
    found = {}
    for field in settings(cls):
        kind, depth, family = _translate(types_of[field.name])
        required = field.default is MISSING and field.default_factory is MISSING and field.name not in data
        key = field.name
        found[key] = SettingType(key, kind, depth, family, required, field.default)
    if data:
        found["path"] = SettingType("path", str, 0, None, False, MISSING)
    return found


def data_fields(cls: type) -> set[str]:
    """The fields that a file would hold in their stead: those that ``cls.read(path, …)`` does not take."""
    if not hasattr(cls, "read"):
        return set()
    return {field.name for field in settings(cls)} - set(inspect.signature(cls.read).parameters)


def _translate(setting: Setting) -> tuple[Any, int, str | None]:
    """A type for files, which have no null; the depth of its lists, and the family of a part."""
    kind = setting.type
    simple = (int, float, str, bool)
    if kind in simple or get_origin(kind) is Literal:
        limits = {LIMITS[name]: limit for name, limit in setting.within._asdict().items() if name in LIMITS}
        limits = {name: limit for name, limit in limits.items() if limit is not None}
        return Annotated[kind, Field(json_schema_extra=limits)] if limits else kind, 0, None
    if get_origin(kind) is Union and all(option in simple for option in get_args(kind)):
        return kind, 0, None
    for name, family in FAMILIES.items():
        if isinstance(kind, type) and issubclass(kind, family):
            return None, 0, name
    if get_origin(kind) in (list, tuple, Sequence) and len(set(get_args(kind)) - {Ellipsis}) == 1:
        inner, depth, part = _translate(Setting.of(get_args(kind)[0]))
        if part is None and depth < AS_WRITTEN:
            return list.__class_getitem__(inner), depth + 1, None
    return Any, AS_WRITTEN, None


# --- models ------------------------------------------------------------------------------------------------

ONE, MANY = "<one>", "<many>"  # tags of a value and of a sweep; they are cut from the locations of mistakes
CONFIG = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
RECORDS = ("regret", "probabilities")


def one_or_many(one: Any, depth: int = 0) -> Any:
    """A value, or a list of them; decided by how deep the lists are, so that mistakes are reported once."""
    if depth == AS_WRITTEN:
        return one

    def tag(value: Any) -> str:
        return MANY if list_depth(value) > depth else ONE

    many = Annotated[list[one], Field(min_length=1), Tag(MANY)]
    return Annotated[Annotated[one, Tag(ONE)] | many, Discriminator(tag)]


Count: TypeAlias = Annotated[int, Field(ge=1, le=10**15)]  # 10^15 rounds take years, and every float has them


class TopLevel(BaseModel):
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
    evidence: bool = Field(
        False,
        description="Whether to look, at every checkpoint, at what could be concluded from what was played: "
        "which arms are ruled out, whether that is right, how wide intervals are, drift alarms.",
    )
    tell_horizon: bool = Field(True, description="Whether policies are told the horizon.")
    modules: list[str] = Field(
        [],
        description="Python files with policies, environments and parts of your own, relative to this file.",
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
            self.namespace[union_name(family)] = Annotated[Union[choices], Field(discriminator="kind")]  # noqa: UP007
        for model in models:  # parts may hold parts: their names are known only now
            model.model_rebuild(_types_namespace=self.namespace)
        self.adapters = {
            family: TypeAdapter(self.namespace[union_name(family)]) for family in ("policy", "environment")
        }


def models() -> Models:
    """The models of everything registered now."""
    return _models(tuple((name, tuple(family.registry.items())) for name, family in FAMILIES.items()))


@functools.lru_cache(maxsize=4)
def _models(kinds: tuple[tuple[str, tuple[tuple[str, type], ...]], ...]) -> Models:
    return Models({name: dict(classes) for name, classes in kinds})


def union_name(family: str) -> str:
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
    docs = parameter_docs(cls)
    parts: dict[str, Any] = {"kind": (Literal[kind], Field())}
    if family in ("policy", "environment"):
        text = "What it is called in tables and figures; swept settings are appended."
        parts["field_label"] = (
            Annotated[str, Field(min_length=1)],
            Field("", alias="label", description=text),
        )
    for key, setting in setting_types(cls).items():
        one = union_name(setting.family) if setting.family else setting.type
        default = ... if setting.required else _json_default(setting)
        swept = _late(one) if setting.family else one_or_many(one, setting.depth)
        parts[f"field_{key}"] = (swept, Field(default, alias=key, description=docs.get(key)))
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


def _json_default(setting: SettingType) -> Any:
    """The default for the schema; validation only keeps what a file says."""
    value = setting.default
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


# --- JSON schema -------------------------------------------------------------------------------------------


def json_schema() -> dict[str, Any]:
    """A JSON schema (draft 2020-12) of experiment files.

    >>> sorted(json_schema()["required"])
    ['environment', 'horizon', 'policy', 'replications']
    """
    load_plugins()
    namespace = models().namespace
    tables: dict[str, Any] = {
        name: (list.__class_getitem__(namespace[union_name(name)]), copy.copy(TopLevel.model_fields[name]))
        for name in ("policy", "environment")
    }
    found = create_model("Experiment", __base__=TopLevel, **tables).model_json_schema()
    definitions = found["$defs"]
    for family in reversed(FAMILIES):  # parts before what holds them
        for kind, cls in FAMILIES[family].registry.items():
            _fold(definitions, definitions[model_name(family, kind)], cls)
    for table in (found, *definitions.values()):
        for setting in table["properties"].values():
            if setting.get("default", "") in (None, ""):
                setting.pop("default", None)  # stands for: there is none
    found["description"] = "An experiment file of bothworlds."
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


def _fold(definitions: dict[str, Any], table: dict[str, Any], cls: type) -> None:
    """Allow parts by their names, with their settings beside them."""
    properties = table["properties"]
    for key, setting in setting_types(cls).items():
        if setting.family is None:
            continue
        kinds = sorted(FAMILIES[setting.family].registry)
        names = [model_name(setting.family, kind) for kind in kinds]
        one = [{"enum": kinds}, *({"$ref": f"#/$defs/{name}"} for name in names)]
        many = {"type": "array", "minItems": 1, "items": {"anyOf": one}}
        words = {name: text for name, text in properties[key].items() if name in ("description", "title")}
        properties[key] = {"anyOf": [*one, many], **words}
        for name in names:
            for inner, what in definitions[name]["properties"].items():
                if inner not in ("kind", "label"):
                    properties.setdefault(inner, what)
