"""The kinds of figures; `leaderboard.figures.registry` maps each to the function that draws it."""

from __future__ import annotations

from enum import StrEnum


class FigureKind(StrEnum):
    """The key of a figure with its description."""

    description: str

    def __new__(cls, key: str, description: str = "") -> FigureKind:
        """Create a member whose value is the key alone."""
        member = str.__new__(cls, key)
        member._value_, member.description = key, description
        return member

    separation = "separation", "distance by separation"
    convergence = "convergence", "distance by sample size and imbalance"
    radar = "radar", "measures of known similarity as a radar chart"
    boxes = "boxes", "measures of known similarity over repetitions"
    distributionality = "distributionality", "distance by separation of paraphrase corpora"
    densities = "densities", "densities of these distances"
    deviations = "deviations", "deviations from both prototypes"
    perturbation = "perturbation", "distance by size of a local perturbation"
    fine_tuning = "fine_tuning", "distance by step of a generator"
    faults = "faults", "heat map of faults and metrics"
    sensitivity = "sensitivity", "similarity by size and position of changes"
    tasks = "tasks", "scores of the text tasks as bars"
    axes = "axes", "values on the first two axes of the text track"
