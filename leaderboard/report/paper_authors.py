"""Who wrote the papers that submissions name, by their addresses: to be shown, and to be found by."""

from __future__ import annotations

WRITTEN_BY = {
    "https://aclanthology.org/D14-1162/": "Pennington, Socher and Manning 2014",
    "https://aclanthology.org/P02-1040/": "Papineni, Roukos, Ward and Zhu 2002",
    "https://aclanthology.org/Q17-1010/": "Bojanowski, Grave, Joulin and Mikolov 2017",
    "https://aclanthology.org/W04-1013/": "Lin 2004",
    "https://aclanthology.org/W05-0909/": "Banerjee and Lavie 2005",
    "https://aclanthology.org/W15-3049/": "Popović 2015",
    "https://aclanthology.org/W18-6319/": "Post 2018",
    "https://arxiv.org/abs/1301.3781": "Mikolov, Chen, Corrado and Dean 2013",
    "https://arxiv.org/abs/1610.06545": "Lopez-Paz and Oquab 2017",
    "https://arxiv.org/abs/1706.08500": "Heusel et al. 2017",
    "https://arxiv.org/abs/1801.01401": "Bińkowski, Sutherland, Arbel and Gretton 2018",
    "https://arxiv.org/abs/1802.01886": "Zhu et al. 2018",
    "https://arxiv.org/abs/1802.05365": "Peters et al. 2018",
    "https://arxiv.org/abs/1904.06991": "Kynkäänniemi et al. 2019",
    "https://arxiv.org/abs/1904.09675": "Zhang et al. 2020",
    "https://arxiv.org/abs/2002.09797": "Naeem et al. 2020",
    "https://arxiv.org/abs/2004.05001": "Yamshchikov, Shibaev, Khlebnikov and Tikhonov 2021",
    "https://arxiv.org/abs/2102.01454": "Pillutla et al. 2021",
    "https://doi.org/10.1007/s10851-014-0506-3": "Bonneel, Rabin, Peyré and Pfister 2015",
    "https://doi.org/10.1016/j.jspi.2013.03.018": "Székely and Rizzo 2013",
    "https://doi.org/10.1109/18.61115": "Lin 1991",
    "https://doi.org/10.1109/ICPR.1994.576361": "Dubuisson and Jain 1994",
    "https://doi.org/10.1109/SEQUEN.1997.666900": "Broder 1997",
    "https://doi.org/10.1145/2063576.2063584": "Lv and Zhai 2011",
    "https://jmlr.org/papers/v13/gretton12a.html": "Gretton et al. 2012",
    "https://proceedings.mlr.press/v37/kusnerb15.html": "Kusner, Sun, Kolkin and Weinberger 2015",
}


def written_by(paper: str | None) -> str | None:
    """Its authors and its year; None where they are not known here."""
    return WRITTEN_BY.get(paper or "")
