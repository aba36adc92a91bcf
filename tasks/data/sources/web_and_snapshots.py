"""Datasets that are generated, downloaded from the web, or available as snapshots only."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tasks.data.schema import Kind, Tables, normalize_tables
from tasks.data.sources import synthetic
from tasks.data.types import Dataset, SnapshotSource, SyntheticSource, WebSource

if TYPE_CHECKING:
    import pandas as pd

RATED = "https://raw.githubusercontent.com/VAShibaev/semantic_similarity_metrics/e7ddb019059c24639666dd164efd31dd9e7bbd04"
RATED_SETS = {"bible": "Bible/Bible", "paralex": "Paralex/Paralex", "paraphrase": "Paraphrase/Paraphrase",
              "yelp_rewrite": "Yelp/Yelp", "gyafc_formal": "GYAFC/GYAFC_formal", "gyafc_informal": "GYAFC/GYAFC_informal",
              "gyafc_rewrite": "GYAFC/GYAFC_rewrites"}
DEMETR = "https://raw.githubusercontent.com/marzenakrp/demetr/0398097cee7f36e0a4f16e3ac332b85d14c26235/dataset"
# Of the 35 perturbations those that change the meaning; the files of the others have errors of form.
DEMETR_ERRORS = ("critical_id7_antonym", "critical_id8_negation", "critical_id9_ne_replaced", "critical_id10_numbers_replaced",
                 "critical_id11_gender", "major_id3_hypernym", "major_id17_tense", "major_id19_question")
JOHNS_HOPKINS = "Blitzer, Dredze and Pereira 2007, Biographies, Bollywood, boom-boxes and blenders, ACL"


def decode_rated_pairs(files: dict[str, bytes]) -> Tables:
    """Convert the 14 rated datasets (text_1, text_2, three labels and their mean): parallel pairs first, then random pairs."""
    import pandas as pd

    rows = []
    for name in sorted(files, key=lambda name: name.endswith(" random")):
        rows += [{"text_a": row["text_1"], "text_b": row["text_2"], "score": float(row["avg_score"]),
                  "group": name.removesuffix(" random"), "random": name.endswith(" random"),
                  "ratings": [float(row[f"label_{n}"]) for n in (1, 2, 3)]}
                 for row in csv.DictReader(io.StringIO(files[name].decode("utf-8")))]
    return {"data": normalize_tables(pd.DataFrame(rows), ("text_a", "text_b"))}


def decode_demetr(files: dict[str, bytes]) -> Tables:
    """Convert DEMETR: a human translation, and a machine translation before and after a perturbation, in alternating order."""
    import pandas as pd

    rows: list[dict[str, str | int]] = []
    for name in sorted(files):
        for item in json.loads(files[name]):
            if item["pert_check"]:          # the perturbation could be applied
                second = len(rows) % 2
                pair = (item["pert_sent"], item["mt_sent"]) if second else (item["mt_sent"], item["pert_sent"])
                rows.append({"document": item["eng_sent"], "summary_a": pair[0], "summary_b": pair[1], "choice": second})
    return {"data": normalize_tables(pd.DataFrame(rows), ("document", "summary_a", "summary_b"))}


def made_corpus(domain: str, fingerprint: str) -> Dataset:
    """Return a synthetic corpus."""
    make = partial(synthetic.make_corpus, domain)
    return made_here(f"made_{domain}", "corpus", f"Synthetic sentences: {domain}", make, synthetic.ROWS, fingerprint)


def made_here(name: str, kind: Kind, title: str, make: Callable[[], pd.DataFrame | Tables], rows: int,
              fingerprint: str) -> Dataset:
    """Return a synthetic dataset."""
    return Dataset(name, kind, title, SyntheticSource(make), "Apache-2.0", "this project", rows, fingerprint, displayable=True)


def snapshot(name: str, kind: Kind, title: str, origin: str, licence: str, citation: str,
             stands_for: str | None = None) -> Dataset:
    """Return a dataset that is available as a snapshot only."""
    return Dataset(name, kind, title, SnapshotSource(origin), licence, citation, stands_for=stands_for)


SYNTHETIC_DATASETS = (
    made_corpus("weather", "7fc22e15aa7f8109175be97721abeda7843e9f17df59aeb24f9cff8bd7c4cecd"),
    made_corpus("kitchen", "6d6450ef8dbfd40be641ff7493aad9fec128da9ec2d817bdb731bdb8fcf7109e"),
    made_corpus("trains", "52f4b78aa17db3d8241432810e7d55d2dadc5c2e45a2d5eb56d28c3e174b4f56"),
    made_here("made_reports", "summarized", "Synthetic documents and summaries", synthetic.make_reports, 72,
              "2097a6b1a61b84c419468243ca8a14e4e0e3556139f1f2961b64619e7726db04"),
    made_here("made_ratings", "rated_summaries", "Synthetic summaries, rated by their sources", synthetic.make_ratings, 72,
              "e7d39c4af5ccf06b799d4fc1eb182125ca6a48e2969c63a45223e718c5556687"),
    made_here("made_choices", "preferences", "Synthetic summaries, the better one chosen", synthetic.make_choices, 24,
              "18fe1257d92b3c1856c43bb484b4905848d93be8b69497c994f81323912a76a2"),
    made_here("made_questions", "retrieval", "Synthetic documents and queries", synthetic.make_questions, 48,
              "1a20bdafa35c10bf6de4c19e7da6d0d0525ba74bf979b7b0de64add15729d879"),
    made_here("made_likeness", "pairs", "Synthetic pairs, rated by exchanged words", synthetic.make_rated_pairs, 120,
              "6834438dbeadc422fafc421d9a229fc5d0a27b7262b8699823755fc414214b2f"),
    made_here("made_paraphrases", "pairs", "Synthetic paraphrases", synthetic.make_pairs, synthetic.ROWS,
              "558f847df0aa4854da23da07f2185b7ede48e88a943b749d89277ea330dce007"),
)

OTHER_DATASETS = (
    Dataset("human_similarity_14", "pairs", "Fourteen sets of pairs, each rated by three people",
            WebSource(tuple((f"{group}{' random' if random else ''}", f"{RATED}/{path}{'_random' if random else ''}.csv")
                            for random in (False, True) for group, path in RATED_SETS.items()), decode_rated_pairs),
            "Apache-2.0 (the repository); the source corpora have their own terms",
            "Yamshchikov et al. 2021, Style-transfer and paraphrase: looking for a sensible semantic similarity metric, AAAI"),
    Dataset("demetr", "preferences", "Machine translations before and after a change of meaning, with a human translation",
            WebSource(tuple((error, f"{DEMETR}/{error}.json") for error in DEMETR_ERRORS), decode_demetr), "MIT",
            "Karpinska et al. 2022, DEMETR: diagnosing evaluation metrics for translation, EMNLP"),
    snapshot("nf_cats", "corpus", "Non-factoid questions", "the repository of NF-CATS", "MIT",
             "Bolotova et al. 2022, A non-factoid question-answering taxonomy, SIGIR", stands_for="yahoo_nonfactoid"),
    snapshot("amazon_phone_reviews", "corpus", "Amazon reviews of phones", "PromptCloud on Kaggle", "CC0-1.0 as marked there",
             "PromptCloud 2017, Amazon reviews: unlocked mobile phones (Kaggle)"),
    snapshot("amazon_reviews", "documents", "Amazon reviews", "Johns Hopkins University", "not stated", JOHNS_HOPKINS),
    snapshot("plos_articles", "summarized", "PLOS articles and abstracts", "PLOS", "CC-BY-4.0", "PLOS"),
    snapshot("cisi", "retrieval", "CISI", "University of Glasgow", "public test collection",
             "Fox 1983, Characterization of two new experimental collections in computer and information science"),
    snapshot("cranfield", "retrieval", "Cranfield", "University of Glasgow", "public test collection",
             "Cleverdon 1967, The Cranfield tests on index language devices, Aslib Proceedings"),
    snapshot("npl_vaswani", "retrieval", "NPL (Vaswani)", "University of Glasgow", "public test collection",
             "Vaswani and Cameron 1970, The NPL experiments in statistical word associations"),
    snapshot("nfcorpus_tokenized", "retrieval", "NFCorpus, the authors' preprocessed release (stop words removed)", "the authors",
             "academic use", "Boteva et al. 2016, A full-text learning to rank dataset for medical information retrieval, ECIR",
             stands_for="nfcorpus"),
    snapshot("ag_news_titles", "clustering", "AG news titles", "the AG corpus", "non-commercial research",
             "Zhang, Zhao and LeCun 2015, Character-level convolutional networks for text classification, NeurIPS"),
    snapshot("amazon_reviews_domains", "clustering", "Amazon reviews by domain", "Johns Hopkins University", "not stated",
             JOHNS_HOPKINS),
    snapshot("arxiv_p2p", "clustering", "arXiv titles and abstracts", "arXiv metadata", "CC0-1.0 (metadata)", "arXiv",
             stands_for="mteb_arxiv_clustering_p2p"),
    snapshot("arxiv_titles", "clustering", "arXiv titles", "arXiv metadata", "CC0-1.0 (metadata)", "arXiv",
             stands_for="mteb_arxiv_clustering_s2s"),
    snapshot("bbc_news_titles", "clustering", "BBC news titles", "University College Dublin", "research use only",
             "Greene and Cunningham 2006, Practical solutions to the problem of diagonal dominance, ICML"),
    snapshot("search_snippets", "clustering", "Search snippets", "the authors", "not stated",
             "Phan, Nguyen and Horiguchi 2008, Learning to classify short and sparse text and web with hidden topics, WWW"),
    snapshot("stackoverflow_titles", "clustering", "Stack Overflow titles by tag", "Kaggle", "CC-BY-SA",
             "Xu et al. 2015, Short text clustering via convolutional neural networks",
             stands_for="mteb_stackexchange_clustering"),
    snapshot("twentynewsgroups", "clustering", "20 Newsgroups subjects", "public Usenet posts", "not stated",
             "Lang 1995, NewsWeeder: learning to filter netnews, ICML", stands_for="mteb_twentynewsgroups_clustering"),
    snapshot("btmpg_paraphrase_rounds", "sequence", "Fifteen rounds of paraphrases by a model", "the repository of BTmPG", "MIT",
             "Lin and Wan 2021, Pushing paraphrase away from original sentence, Findings of ACL"),
)
