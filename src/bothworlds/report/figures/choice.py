"""Which policies and environments of a study a figure shows, under which names, in which colors."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bothworlds import _check
from bothworlds._words import did_you_mean
from bothworlds.errors import InvalidArgumentError
from bothworlds.experiments.spec.variants import fill_template
from bothworlds.report.numbers.rows import Panel, panels

if TYPE_CHECKING:
    from bothworlds.report.study import Study

MOST_LISTED = 12  # names in a message


@dataclass(frozen=True)
class LineStyle:
    """How a line is told apart: by number (color, marker, dash), or by its place on a scale of colors."""

    number: int = 0
    shade: float | None = None


@dataclass(frozen=True)
class Legend:
    """The policies that are shown, in the order of the file: what they are called, and how they look."""

    labels: Mapping[str, str]
    styles: Mapping[str, LineStyle]

    def __contains__(self, policy: object) -> bool:
        return policy in self.labels


def choose_policies(
    study: Study, chosen: Sequence[str] | None, label: str | None, color: str | None
) -> Legend:
    """The policies of a study that are asked for: by label, renamed by a template, colored by a setting."""
    known = study.policies
    for name in chosen or ():
        require_label(study, "policies", name)
    shown = [name for name in known if chosen is None or name in chosen]
    if not shown:
        raise InvalidArgumentError("policies", chosen, "at least one policy of the study", got="none")
    entries = {entry["label"]: entry for entry in study.manifest["policies"]}
    labels = {name: name for name in shown}
    if label is not None:
        labels = {name: fill_template(label, entries[name]["settings"], name) for name in shown}
        twice = [text for text in labels.values() if list(labels.values()).count(text) > 1]
        if twice:
            raise InvalidArgumentError(
                "label", label, "a template that tells all policies apart", got=f"{twice[0]!r} twice"
            )
    styles = {name: LineStyle(known.index(name)) for name in shown}
    setting, values = _setting_of(study, shown, color)
    if setting is not None:
        low, high = min(values.values()), max(values.values())
        logs = low > 0 and high > 20 * low
        place = math.log if logs else float
        span = place(high) - place(low) or 1.0
        shades = {name: (place(value) - place(low)) / span for name, value in values.items()}
        styles |= {name: LineStyle(styles[name].number, shade) for name, shade in shades.items()}
    return Legend(labels, styles)


def require_label(study: Study, argument: str, name: str) -> None:
    """Refuse a name that no policy of the study has, with those that there are."""
    known = study.policies
    if name not in known:
        listed = ", ".join(map(repr, known[:MOST_LISTED])) + (" …" if len(known) > MOST_LISTED else "")
        fix = did_you_mean(str(name), known)
        raise InvalidArgumentError(argument, name, f"a policy of the study ({listed})", fix=fix)


def best_first(study: Study, panel: Panel, names: Container[str]) -> list[str]:
    """The policies among these, best first, those without results in this world after the others."""
    found = [name for name in study.ranking["policy"] if name in names and name in panel.cells]
    played = set(study.summary["cell"])
    return sorted(found, key=lambda name: panel.cells[name] not in played)


def telling_setting(study: Study, shown: Sequence[str]) -> tuple[str | None, dict[str, float]]:
    """The swept number, if any, that tells all these policies (three or more) apart, and its values."""
    for name, values in _swept_numbers(study, shown).items():
        if len(values) == len(shown) >= 3 and len(set(values.values())) == len(shown):
            return name, values
    return None, {}


def _swept_numbers(study: Study, shown: Sequence[str]) -> dict[str, dict[str, float]]:
    swept = {entry["label"]: entry["swept"] for entry in study.manifest["policies"]}
    names = dict.fromkeys(name for policy in shown for name in swept[policy])
    return {
        name: {p: float(swept[p][name]) for p in shown if isinstance(swept[p].get(name), (int, float))}
        for name in names
    }


def _setting_of(study: Study, shown: Sequence[str], color: str | None) -> tuple[str | None, dict[str, float]]:
    """The swept setting by which policies are colored, and its values."""
    if color is None:
        return telling_setting(study, shown)
    if color == "policy":
        return None, {}
    numbers = _swept_numbers(study, shown)
    found = [name for name in numbers if color in (name, name.rpartition(".")[2]) and numbers[name]]
    if not found:
        raise InvalidArgumentError(
            "color", color, "“policy” or a swept number", fix=f"swept here: {', '.join(numbers) or 'nothing'}"
        )
    return found[0], numbers[found[0]]


def choose_panels(study: Study, environment: str | int | None, *, optimal: bool = False) -> list[Panel]:
    """A panel by its number, its title or its environment (then at the largest horizon); None: all of these.

    With ``optimal``, all are those whose optimal arms are known, if there are some.

    Raises
    ------
    InvalidArgumentError
        If the study has no such environment.
    """
    found = panels(study.cells)
    if environment is None:
        largest = [panel for panel in found if panel.largest]
        cells = study.manifest["cells"]
        known = [panel for panel in largest if cells[next(iter(panel.cells.values()))]["optimal"]]
        return (known or largest) if optimal else largest
    if isinstance(environment, int) or (isinstance(environment, str) and environment.isdecimal()):
        number = _check.integer("environment", int(environment), at_least=1)
        if number > len(found):
            raise InvalidArgumentError(
                "environment", number, f"in 1..{len(found)}", fix=_panels_in_words(found)
            )
        return [found[number - 1]]
    titled = [panel for panel in found if panel.title == environment]
    titled = titled or [panel for panel in found if panel.environment == environment and panel.largest]
    if not titled:
        raise InvalidArgumentError(
            "environment", environment, "an environment of the study", fix=_panels_in_words(found)
        )
    return titled[:1]


def _panels_in_words(found: Sequence[Panel]) -> str:
    listed = "; ".join(f"{panel.number + 1} {panel.title}" for panel in found[:MOST_LISTED])
    return f"by number or title: {listed}{' …' if len(found) > MOST_LISTED else ''}"
