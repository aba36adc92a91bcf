"""Papers that define tasks."""

from __future__ import annotations

from harness.evaluation.task import Paper

KOUR_2022 = Paper(
    "kour2022measuring",
    ("Kour, George", "Ackerman, Samuel", "Farchi, Eitan Daniel", "Raz, Orna", "Carmeli, Boaz", "Anaby Tavor, Ateret"),
    "Measuring the Measuring Tools: An Automatic Evaluation of Semantic Metrics for Text Corpora",
    "Proceedings of the 2nd Workshop on Natural Language Generation, Evaluation, and Metrics (GEM)", 2022,
    "https://aclanthology.org/2022.gem-1.35")

ACKERMAN = Paper(
    "ackerman2023characterizing", ("Ackerman, Samuel", "Kour, George", "Farchi, Eitan Daniel"),
    "Characterizing how 'distributional' NLP corpora distance metrics are", "arXiv preprint", 2023,
    "https://arxiv.org/abs/2310.14829")

RAISA = Paper(
    "raisa2025position", ("Räisä, Ossi", "van Breugel, Boris", "van der Schaar, Mihaela"),
    "Position: All Current Generative Fidelity and Diversity Metrics are Flawed",
    "Proceedings of the 42nd International Conference on Machine Learning (PMLR 267)", 2025,
    "https://proceedings.mlr.press/v267/raisa25a.html")
