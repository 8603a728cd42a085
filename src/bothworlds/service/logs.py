"""What the service says about itself: one JSON object, or one line of text, per event, on stderr."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

logger = logging.getLogger("bothworlds.service")
STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


def extra_fields(record: logging.LogRecord) -> dict[str, Any]:
    """The fields of a record that were given as ``extra``."""
    return {name: value for name, value in vars(record).items() if name not in STANDARD}


class JsonFormatter(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        said: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **extra_fields(record),
        }
        if record.exc_info:
            said["traceback"] = self.formatException(record.exc_info)
        return json.dumps(said, default=str)


class TextFormatter(logging.Formatter):
    """One line for people."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds")
        extra = "".join(f" {name}={value!r}" for name, value in extra_fields(record).items())
        text = f"{at} {record.levelname.lower()} {record.getMessage()}{extra}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


def set_up(level: str, kind: str) -> None:
    """Let the service and its server write to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if kind == "json" else TextFormatter())
    for name in ("bothworlds.service", "uvicorn", "py.warnings"):
        found = logging.getLogger(name)
        found.handlers, found.propagate = [handler], False
        found.setLevel(level.upper() if name == "bothworlds.service" else "WARNING")
    logging.captureWarnings(True)
