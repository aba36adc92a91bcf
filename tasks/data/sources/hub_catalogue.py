"""Datasets on the Hugging Face Hub.

No revisions are pinned: the datasets are unverified until the first load writes their fingerprints to `data.lock`.
"""

from __future__ import annotations

from tasks.data.schema import Kind
from tasks.data.sources import hub_columns
from tasks.data.sources.hub import HubSplit
from tasks.data.types import Dataset, HubSource

MTEB = "Muennighoff et al. 2023, MTEB: massive text embedding benchmark, EACL"
BEIR = "Thakur et al. 2021, BEIR: a heterogeneous benchmark for zero-shot evaluation of information retrieval models, NeurIPS"
STIENNON = "Stiennon et al. 2020, Learning to summarize from human feedback, NeurIPS"
FEEDBACK = "OpenAI modified MIT; the posts under it CC BY 4.0 (Syed et al. 2018), the news articles under their publishers' terms"
CLINC = "Larson et al. 2019, An evaluation dataset for intent classification and out-of-scope prediction, EMNLP"
BANKING = "Casanueva et al. 2020, Efficient intent detection with dual sentence encoders, NLP for ConvAI"
PUBMED = "Cohan et al. 2018, A discourse-aware attention model for abstractive summarization of long documents, NAACL"
TWENTY = "Lang 1995, NewsWeeder: learning to filter netnews, ICML"


def hub(name: str, kind: Kind, title: str, address: str, splits: str, shape: hub_columns.Shape, licence: str, citation: str,
        config: str | None = None, stands_for: str | None = None) -> Dataset:
    """Return a dataset whose splits are in one repository."""
    parts = tuple(HubSplit(address, config, split) for split in splits.split())
    return Dataset(name, kind, title, HubSource(parts, shape), licence, citation, stands_for=stands_for)


def mteb_clustering(name: str, title: str, licence: str) -> Dataset:
    """Return a clustering dataset of MTEB."""
    ours = f"mteb_{name.replace('-', '_')}"
    return hub(ours, "clustering", title, f"mteb/{name}", "test", hub_columns.mteb_clustering, licence, MTEB)


def beir(name: str, title: str, address: str, licence: str, citation: str) -> Dataset:
    """Return a BEIR dataset: documents and queries are configurations of one repository, judgements are in another."""
    parts = (HubSplit(address, "corpus", "corpus"), HubSplit(address, "queries", "queries"),
             HubSplit(f"{address}-qrels", None, "test"))
    return Dataset(name, "retrieval", title, HubSource(parts, hub_columns.beir), licence, f"{citation}; {BEIR}")


def of_feedback(name: str, kind: Kind, title: str, config: str, splits: str, shape: hub_columns.Shape) -> Dataset:
    """Return a dataset made of OpenAI's feedback on summaries."""
    return hub(name, kind, title, "openai/summarize_from_feedback", splits, shape, FEEDBACK, STIENNON, config)


HUB_DATASETS = (
    hub("clinc150", "corpus", "CLINC150 utterances", "clinc/clinc_oos", "train validation test",
        hub_columns.corpus("text", "intent", drop="oos"), "CC-BY-3.0", CLINC, config="plus"),
    hub("banking77", "corpus", "Banking77 queries", "mteb/banking77", "train test", hub_columns.corpus("text", "label_text"),
        "CC-BY-4.0", BANKING),
    hub("atis", "corpus", "ATIS utterances", "tuetschek/atis", "train test", hub_columns.corpus("text", "intent"),
        "not stated", "Hemphill, Godfrey and Doddington 1990, The ATIS spoken language systems pilot corpus"),
    hub("huffpost_headlines", "corpus", "HuffPost headlines", "heegyu/news-category-dataset", "train",
        hub_columns.corpus("headline", "category"), "not stated", "Misra 2022, News category dataset, arXiv:2209.11429"),
    hub("yahoo_answers_questions", "corpus", "Yahoo Answers questions", "community-datasets/yahoo_answers_topics", "train test",
        hub_columns.corpus("question_title", "topic"), "Yahoo! Webscope L6 (research use)",
        "Zhang, Zhao and LeCun 2015, Character-level convolutional networks for text classification, NeurIPS"),
    hub("yahoo_nonfactoid", "corpus", "Yahoo non-factoid questions (nfL6)", "community-datasets/yahoo_answers_qa", "train",
        hub_columns.corpus("question", "main_category"), "Yahoo! Webscope L6 (research use)",
        "Cohen and Croft 2016, End to end long short term memory networks for non-factoid question answering, ICTIR"),
    hub("bbc_news", "documents", "BBC news articles", "SetFit/bbc-news", "train test", hub_columns.documents("text"),
        "research use only", "Greene and Cunningham 2006, Practical solutions to the problem of diagonal dominance, ICML"),
    hub("paul_graham_essays", "documents", "Essays of Paul Graham", "sgoel9/paul_graham_essays", "train",
        hub_columns.documents("text"), "not stated", "paulgraham.com"),
    hub("pubmed_documents", "documents", "PubMed articles", "ccdv/pubmed-summarization", "test", hub_columns.documents("article"),
        "Apache-2.0 for the code it came from", PUBMED, config="document"),
    hub("arguana", "documents", "ArguAna arguments", "BeIR/arguana", "queries", hub_columns.documents("text"), "CC-BY-SA-4.0",
        "Wachsmuth, Syed and Stein 2018, Retrieval of the best counterargument without prior topic knowledge, ACL",
        config="queries"),
    of_feedback("reddit_posts", "documents", "Reddit posts", "comparisons", "validation", hub_columns.openai_posts),
    hub("quora_paraphrases", "pairs", "Quora duplicate questions", "sentence-transformers/quora-duplicates", "train",
        hub_columns.pairs("anchor", "positive"), "not stated", "Iyer, Dandekar and Csernai 2017, First Quora dataset release",
        config="pair"),
    hub("sick", "pairs", "SICK sentence pairs", "mteb/sickr-sts", "test", hub_columns.pairs("sentence1", "sentence2", "score"),
        "CC-BY-NC-SA-3.0", "Marelli et al. 2014, A SICK cure for the evaluation of compositional distributional models, LREC"),
    hub("stsb", "pairs", "STS benchmark", "sentence-transformers/stsb", "train validation test",
        hub_columns.pairs("sentence1", "sentence2", "score", times=hub_columns.MOST_STARS, groups=("train", "dev", "test")),
        "CC-BY-SA-4.0; the single sources carry their own terms", "Cer et al. 2017, SemEval-2017 task 1, SemEval"),
    of_feedback("summarize_comparisons", "preferences", "OpenAI's choices between summaries", "comparisons", "train validation",
                hub_columns.openai_comparisons),
    of_feedback("summarize_axis", "rated_summaries", "OpenAI's ratings of summaries on four axes", "axis", "test validation",
                hub_columns.openai_axis),
    hub("summeval", "rated_summaries", "SummEval, expert ratings", "mteb/summeval", "test", hub_columns.mteb_summeval,
        "MIT; the articles are CNN/DailyMail", "Fabbri et al. 2021, SummEval: re-evaluating summarization evaluation, TACL",
        stands_for="summarize_axis"),
    hub("billsum", "summarized", "US bills", "FiscalNote/billsum", "train", hub_columns.summarized("text", "summary"), "CC0-1.0",
        "Kornilova and Eidelman 2019, BillSum: a corpus for automatic summarization of US legislation"),
    hub("cnn_dailymail", "summarized", "CNN/DailyMail", "abisee/cnn_dailymail", "test",
        hub_columns.summarized("article", "highlights"), "Apache-2.0 for the scripts; the articles under their publishers' terms",
        "Hermann et al. 2015, Teaching machines to read and comprehend, NeurIPS", config="3.0.0"),
    hub("pubmed", "summarized", "PubMed articles and abstracts", "ccdv/pubmed-summarization", "test",
        hub_columns.summarized("article", "abstract"), "Apache-2.0 for the code it came from", PUBMED, config="document"),
    beir("scifact", "SciFact", "BeIR/scifact", "CC-BY-NC-2.0 (claims), ODC-By-1.0 (abstracts)",
         "Wadden et al. 2020, Fact or fiction: verifying scientific claims, EMNLP"),
    beir("dbpedia", "DBpedia entities", "BeIR/dbpedia-entity", "CC-BY-SA-3.0",
         "Hasibi et al. 2017, DBpedia-Entity v2: a test collection for entity search, SIGIR"),
    beir("msmarco", "MS MARCO passages (TREC DL 2019)", "BeIR/msmarco", "non-commercial research",
         "Nguyen et al. 2016, MS MARCO: a human generated machine reading comprehension dataset"),
    beir("nfcorpus", "NFCorpus", "BeIR/nfcorpus", "academic use",
         "Boteva et al. 2016, A full-text learning to rank dataset for medical information retrieval, ECIR"),
    beir("climate_fever", "Climate-FEVER, BEIR's version", "BeIR/climate-fever", "not stated",
         "Diggelmann et al. 2020, CLIMATE-FEVER: a dataset for verification of real-world climate claims"),
    hub("climate_fever_evidence", "retrieval", "Climate-FEVER, evidence sentences", "tdiggelm/climate_fever", "test",
        hub_columns.climate_evidence, "not stated (Wikipedia sentences CC-BY-SA)",
        "Diggelmann et al. 2020, CLIMATE-FEVER: a dataset for verification of real-world climate claims",
        stands_for="climate_fever"),
    mteb_clustering("arxiv-clustering-p2p", "arXiv titles and abstracts", "CC0-1.0 (metadata)"),
    mteb_clustering("arxiv-clustering-s2s", "arXiv titles", "CC0-1.0 (metadata)"),
    mteb_clustering("biorxiv-clustering-p2p", "bioRxiv titles and abstracts", "see bioRxiv"),
    mteb_clustering("biorxiv-clustering-s2s", "bioRxiv titles", "see bioRxiv"),
    mteb_clustering("medrxiv-clustering-p2p", "medRxiv titles and abstracts", "see medRxiv"),
    mteb_clustering("medrxiv-clustering-s2s", "medRxiv titles", "see medRxiv"),
    mteb_clustering("reddit-clustering", "Reddit titles", "not stated"),
    mteb_clustering("reddit-clustering-p2p", "Reddit titles and posts", "not stated"),
    mteb_clustering("stackexchange-clustering", "StackExchange titles", "CC-BY-SA"),
    mteb_clustering("stackexchange-clustering-p2p", "StackExchange titles and bodies", "CC-BY-SA"),
    mteb_clustering("twentynewsgroups-clustering", "20 Newsgroups subjects", "not stated"),
    hub("ag_news", "clustering", "AG news", "fancyzhx/ag_news", "test", hub_columns.labelled("text", "label"),
        "non-commercial research", "Zhang, Zhao and LeCun 2015, Character-level convolutional networks for text classification"),
    hub("banking77_intents", "clustering", "Banking77 by intent", "mteb/banking77", "test",
        hub_columns.labelled("text", "label_text"), "CC-BY-4.0", BANKING),
    hub("clinc150_intents", "clustering", "CLINC150 by intent", "clinc/clinc_oos", "test",
        hub_columns.labelled("text", "intent", drop="oos"), "CC-BY-3.0", CLINC, config="plus"),
    hub("bbc_news_topics", "clustering", "BBC news by topic", "SetFit/bbc-news", "train test",
        hub_columns.labelled("text", "label_text"), "research use only",
        "Greene and Cunningham 2006, Practical solutions to the problem of diagonal dominance, ICML"),
    of_feedback("reddit_titles", "clustering", "Reddit titles by subreddit", "comparisons", "validation",
                hub_columns.openai_titles(whole=False)),
    of_feedback("reddit_titles_p2p", "clustering", "Reddit titles and posts by subreddit", "comparisons", "validation",
                hub_columns.openai_titles(whole=True)),
    hub("twentynewsgroups_p2p", "clustering", "20 Newsgroups bodies", "SetFit/20_newsgroups", "test",
        hub_columns.labelled("text", "label_text"), "not stated (public Usenet posts)", TWENTY),
)
