"""Settings of the service: limits for each owner and address, and times.  Each can be set by an environment variable."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields

from harness.base.errors import TouchstoneError

HOUR, DAY = 3600.0, 86_400.0
PREFIX = "TOUCHSTONE_SERVICE_"


@dataclass(frozen=True)
class Settings:
    """Limits and times; `TOUCHSTONE_SERVICE_CHECKS_PER_HOUR=20` sets `checks_per_hour`."""

    file_bytes: int = 256_000
    uploads_per_day: int = 20  # from one address
    checks_per_hour: int = 10  # of one owner
    runs_per_month: int = 3  # scored submissions of one owner in 30 days
    hours_per_month: float = 8.0  # processor time of one owner in 30 days
    waiting_per_owner: int = 3
    queue_length: int = 200
    held_days: float = 7.0  # between scoring and publication
    kept_days: float = 14.0  # a checked submission that is not queued expires
    lease_seconds: float = 120.0  # without a sign of life a runner is considered lost
    check_seconds: float = 60.0  # for the first answers of a metric
    attempts: int = 2  # runs that may end with the loss of their runner

    @classmethod
    def from_environment(cls) -> Settings:
        """Return the settings, with those that environment variables change."""
        changed: dict[str, float] = {}
        for field in fields(cls):
            variable = PREFIX + field.name.upper()
            text = os.environ.get(variable)
            if text is not None:
                try:
                    changed[field.name] = int(text) if field.type == "int" else float(text)
                except ValueError:
                    raise TouchstoneError(f"{variable} must be a number, such as {field.default}.") from None
                if not changed[field.name] > 0:
                    raise TouchstoneError(f"{variable} is {text}; it must be greater than 0.")
        return cls(**changed)  # type: ignore[arg-type]
