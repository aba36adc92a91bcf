"""The results store: outcomes, observations, arrays and provenance.  May import `harness.environments` and what is below it."""

from typing import TYPE_CHECKING

from harness.base.lazy import lazy_exports

if TYPE_CHECKING:
    from harness.results.store import open_store as open_store

__getattr__, __dir__ = lazy_exports(__name__, {"open_store": "harness.results.store"})     # imports SQLAlchemy
