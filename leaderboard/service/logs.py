"""Logs of the service's processes: lines for people, or JSON lines for a log server."""

from __future__ import annotations

import json
import logging
from enum import StrEnum

FIELDS = "fields"                           # attribute of a log record: values besides the message


class LogFormat(StrEnum):
    """How log lines are written."""

    TEXT = "text"
    JSON = "json"


class JsonLines(logging.Formatter):
    """Formats each record as one JSON object: time, level, logger, message, and the values it carries."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line."""
        line = {"time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"), "level": record.levelname, "logger": record.name,
                "message": record.getMessage(), **getattr(record, FIELDS, {})}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def configure_logs(style: LogFormat) -> None:
    """Write the log to standard error in a format."""
    handler = logging.StreamHandler()
    if style is LogFormat.JSON:
        handler.setFormatter(JsonLines())
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("httpx").setLevel(logging.WARNING)        # a line for each request of Gradio to itself
