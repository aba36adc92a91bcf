"""The leaderboard: scores, rankings, releases, reproductions of papers, the board and the command line.

The names below are the public API; everything else may change.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leaderboard.ensembles.build import EnsembleReport as EnsembleReport
    from leaderboard.ensembles.build import build_ensemble as build_ensemble
    from leaderboard.papers.registry import reproduce as reproduce
    from leaderboard.scoring.comparison import compare as compare
    from leaderboard.scoring.ranking import Ranking as Ranking
    from leaderboard.scoring.ranking import rank_suite as rank
    from leaderboard.scoring.scores import Scored as Scored
    from leaderboard.scoring.scores import score_suite as score
    from leaderboard.workflows.check import CheckReport as CheckReport
    from leaderboard.workflows.check import check as check
    from leaderboard.workflows.explain import explain as explain

_EXPORTS = {
    "CheckReport": "leaderboard.workflows.check",
    "EnsembleReport": "leaderboard.ensembles.build",
    "Ranking": "leaderboard.scoring.ranking",
    "Scored": "leaderboard.scoring.scores",
    "build_ensemble": "leaderboard.ensembles.build",
    "check": "leaderboard.workflows.check",
    "compare": "leaderboard.scoring.comparison",
    "explain": "leaderboard.workflows.explain",
    "rank": "leaderboard.scoring.ranking:rank_suite",
    "reproduce": "leaderboard.papers.registry",
    "score": "leaderboard.scoring.scores:score_suite",
}

__all__ = [
    "CheckReport", "EnsembleReport", "Ranking", "Scored", "build_ensemble", "check", "compare", "explain", "rank",
    "reproduce", "score",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that importing the package stays fast."""
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _EXPORTS[name].partition(":")
    return getattr(import_module(module), attribute or name)


def __dir__() -> list[str]:
    return sorted(__all__)
