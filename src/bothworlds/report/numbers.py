"""Numbers as people read them: few digits, thousands apart, a true minus sign."""

from __future__ import annotations

import math

NOTHING = "–"


def fixed(value: float, places: int) -> str:
    """A number with so many decimals.

    Examples
    --------
    >>> fixed(-12345.678, 1), fixed(-0.001, 2)
    ('−12,345.7', '0.00')
    """
    text = f"{abs(value):,.{places}f}"
    return f"−{text}" if value < 0.0 and text.strip("0.,") else text


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits, whole ones in full, without exponent for ordinary sizes.

    Examples
    --------
    >>> number(0.012345), number(3.14159), number(99.97), number(12345.6), number(-2.5e-9)
    ('0.0123', '3.14', '100', '12,346', '−2.5e-09')
    >>> number(-0.0), number(None), number(float("nan")), number(float("-inf"))
    ('0', '–', '–', '−∞')
    """
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0.0 else "−∞"
    if value == 0.0:
        return "0"
    size = int(f"{value:.{digits - 1}e}".partition("e")[2])  # after rounding: 99.97 is 100
    if size < -4 or size > 8:
        return f"{value:.{digits}g}".replace("-", "−", int(value < 0.0))
    return fixed(value, max(0, digits - 1 - size))


def plus_minus(mean: float, low: float, high: float) -> str:
    """A mean with half the width of its interval, which has two significant digits.

    Examples
    --------
    >>> plus_minus(-4123.456, -4126.9, -4120.1), plus_minus(5.0, float("nan"), float("nan"))
    ('−4,123.5 ± 3.4', '5.00')
    """
    half = (high - low) / 2.0
    if math.isnan(mean) or math.isnan(half) or half <= 0.0:
        return number(mean)
    places = min(12, max(0, 1 - math.floor(math.log10(half))))
    return f"{fixed(mean, places)} ± {fixed(half, places)}"


def interval(value: float, low: float, high: float) -> str:
    """An estimate and its interval, two decimals.

    Examples
    --------
    >>> interval(0.5, -0.42, 0.61), interval(0.5, float("nan"), float("nan")), interval(*[float("nan")] * 3)
    ('0.50 [−0.42, 0.61]', '0.50', '–')
    """
    if math.isnan(value):
        return NOTHING
    return fixed(value, 2) if math.isnan(low) else f"{fixed(value, 2)} [{fixed(low, 2)}, {fixed(high, 2)}]"


def p_value(value: float) -> str:
    """A p-value; below one in a thousand only that."""
    return "< 0.001" if value < 0.001 else number(value, 2)
