"""The leaderboard: scores, rankings, releases, reproductions of papers, the board and the command line.

The names below are the public API; everything else may change.
"""

from typing import TYPE_CHECKING

from harness.base.lazy import lazy_exports

if TYPE_CHECKING:
    from leaderboard.ensembles.build import EnsembleReport as EnsembleReport
    from leaderboard.ensembles.build import build_ensemble as build_ensemble
    from leaderboard.own_data.choose import Choice as Choice
    from leaderboard.own_data.choose import choose as choose
    from leaderboard.own_data.measure import Measurement as Measurement
    from leaderboard.own_data.measure import measure as measure
    from leaderboard.papers.registry import reproduce as reproduce
    from leaderboard.publishing.citations import cite as cite
    from leaderboard.publishing.release import Release as Release
    from leaderboard.publishing.release import read_release as load_release
    from leaderboard.report.position import find_positions as find_positions
    from leaderboard.scoring.comparison import compare as compare
    from leaderboard.scoring.ranking import Ranking as Ranking
    from leaderboard.scoring.ranking import rank_suite as rank
    from leaderboard.scoring.results import score_suite as score
    from leaderboard.scoring.scores import Scored as Scored
    from leaderboard.workflows.check import CheckReport as CheckReport
    from leaderboard.workflows.check import check as check
    from leaderboard.workflows.explain import explain as explain

_EXPORTS = {
    "CheckReport": "leaderboard.workflows.check",
    "Choice": "leaderboard.own_data.choose",
    "EnsembleReport": "leaderboard.ensembles.build",
    "Measurement": "leaderboard.own_data.measure",
    "Ranking": "leaderboard.scoring.ranking",
    "Release": "leaderboard.publishing.release",
    "Scored": "leaderboard.scoring.scores",
    "build_ensemble": "leaderboard.ensembles.build",
    "check": "leaderboard.workflows.check",
    "choose": "leaderboard.own_data.choose",
    "cite": "leaderboard.publishing.citations",
    "compare": "leaderboard.scoring.comparison",
    "explain": "leaderboard.workflows.explain",
    "find_positions": "leaderboard.report.position",
    "load_release": "leaderboard.publishing.release:read_release",
    "measure": "leaderboard.own_data.measure",
    "rank": "leaderboard.scoring.ranking:rank_suite",
    "reproduce": "leaderboard.papers.registry",
    "score": "leaderboard.scoring.results:score_suite",
}

__all__ = [
    "CheckReport", "Choice", "EnsembleReport", "Measurement", "Ranking", "Release", "Scored", "build_ensemble", "check", "choose",
    "cite", "compare", "explain", "find_positions", "load_release", "measure", "rank", "reproduce", "score",
]

__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
