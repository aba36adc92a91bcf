"""The profile of a generated corpus: each measure by hand, the input files, and the command."""

from __future__ import annotations

import itertools
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs

import numpy as np
import pandas as pd
import pytest
from rapidfuzz.distance import Levenshtein
from scipy import stats

from harness.base.errors import TouchstoneError
from harness.base.progress import NoProgress
from leaderboard.corpus_profile.grammar import RULES, count_rule_violations, errors_per_word, language_tool
from leaderboard.corpus_profile.nearest import drop_near_duplicates
from leaderboard.corpus_profile.plausibility import masked_surprise, model_surprise, ngram_surprise, perplexity, surprises
from leaderboard.corpus_profile.profile import (
    build_profile,
    compare,
    find_copies,
    mean_interval,
    nearest_cosines,
    normalize_rows,
    normalize_text,
    overlap,
    select_best,
    unique_curve,
    vocabulary,
)
from leaderboard.corpus_profile.read_texts import read_texts
from leaderboard.corpus_profile.report import draw_similarities, to_html, to_json
from leaderboard.corpus_profile.scorers import load_scorers
from tasks.data import loading as data
from tests.support.command import touchstone

TRAIN, TEST = data.load_corpus("made_kitchen")[:120], data.load_corpus("made_kitchen")[120:180]
GENERATED = [*data.load_corpus("made_kitchen")[180:230], *TRAIN[:10], *data.load_corpus("made_trains")[:20]]


# ---- each measure ------------------------------------------------------------------------------------------------------

def test_copies_of_each_other_and_of_training_texts_are_not_unique():
    assert normalize_text("Well,  it's  DONE!") == "well its done"
    curve = dict(unique_curve(["A b.", "c d", "a, b", "E!", "e f"], ["e"]))
    # "A b." is unique until "a, b" comes; "E!" is in train
    assert curve == {1: 1.0, 2: 1.0, 3: pytest.approx(1 / 3), 4: pytest.approx(1 / 4), 5: pytest.approx(2 / 5)}
    assert unique_curve(["x", "x", "x"], [])[-1] == (3, 0.0)
    assert len(unique_curve([str(i) for i in range(1000)], [])) == 25


def test_vocabulary_and_errors_per_word_by_hand():
    assert vocabulary(["The cat.", "the CAT sat"]) == {"the", "cat", "sat"}


def test_the_table_and_the_test_of_grammar_have_the_same_means(profile):
    test = next(test for test in profile.tests if test.quantity == "grammar errors per word")
    train, _, generated = profile.rows
    assert test.means == (generated.grammar, train.grammar)


@pytest.mark.parametrize(("wrong", "right", "rule"), [
    ("The soup was was cold.", "I know that that is so.", "a word twice"),
    ("He ate a apple.", "It is a university of a European one-off.", "a before a vowel"),
    ("She has an dog.", "It took an hour and an MRI.", "an before a consonant"),
    ("Then i left.", "The i. e. of it", "i for I"),
    ("We left , late.", "We left, late.", "a space before a comma or stop"),
    ("It was late,cold", "It was 1,000 late", "no space after a comma"),
    ("It stopped..", "It stopped...", "a mark twice"),
    ("You should of come.", "Some of us should.", "could of"),
    ("He have a kettle.", "They have a kettle.", "a singular with a plural verb"),
    ("We was late.", "I was late.", "a plural with a singular verb"),
    ("I is late.", "I am late.", "I with another verb"),
    ("They are go home.", "They go home.", "a base form after to be"),
    ("She did not went.", "She did not go.", "a past form after did"),
    ("Give me the my cup.", "Give me my cup.", "two determiners"),
    ("There are many advice.", "There is much advice.", "many of what is one"),
    ("It (was late.", "It (was) late.", "brackets left open"),
])
def test_each_rule_matches_the_error_and_not_the_correct_sentence(wrong, right, rule):
    assert RULES[rule].search(wrong)
    assert not RULES[rule].search(right)
    assert count_rule_violations(wrong) >= 1
    assert count_rule_violations("The kettle has boiled, and we are all at the table.") == 0


def test_every_rule_is_tested():
    tested = {mark.args[1][i][2] for mark in test_each_rule_matches_the_error_and_not_the_correct_sentence.pytestmark for i in range(len(mark.args[1]))}
    assert tested == set(RULES)


@pytest.fixture
def server():
    """Serve responses like LanguageTool, with one match for each `teh`."""
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            text = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())["text"][0]
            self.send_response(200 if self.path == "/v2/check" else 404)
            self.end_headers()
            self.wfile.write(json.dumps({"matches": [{}] * text.count("teh")}).encode())
        def log_message(self, *_): ...
    running = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    running.server_close()


def test_errors_are_counted_by_a_languagetool_server(server):
    assert errors_per_word(["teh cat & teh dog", "the cat"], language_tool(server)) == [2 / 5, 0.0]
    with pytest.raises(TouchstoneError, match="does not answer"):
        language_tool(f"{server}/elsewhere")


def test_overlap_by_hand():
    result = overlap(np.array([1.0, 0.5, 0.6]), np.array([0.4, 0.5]))
    # P = .7, sd .2646, t(.975, 2) = 4.3027; R = .45, sd .0707, t(.975, 1) = 12.706
    assert (result.precision.value, result.precision.high) == (pytest.approx(0.7), pytest.approx(0.7 + 4.30265 * 0.264575 / 3 ** 0.5, abs=1e-4))
    assert result.f1.value == pytest.approx(2 * 0.7 * 0.45 / 1.15)
    half_width = np.hypot(2 * (0.45 / 1.15) ** 2 * 4.30265 * 0.264575 / 3 ** 0.5, 2 * (0.7 / 1.15) ** 2 * 12.7062 * 0.0707107 / 2 ** 0.5)
    assert result.f1.high - result.f1.value == pytest.approx(half_width, abs=1e-4)
    assert mean_interval(np.array([0.3])).low == 0.3


def test_intervals_of_f1_have_their_nominal_coverage():
    """95% of 600 draws, within four standard errors."""
    rng, covered = np.random.default_rng(1), 0
    truth = 2 * 0.75 * 0.6 / 1.35
    for _ in range(600):
        f1 = overlap(rng.beta(3, 1, 80), rng.beta(3, 2, 60)).f1
        covered += f1.low <= truth <= f1.high
    assert abs(covered / 600 - 0.95) < 4 * (0.95 * 0.05 / 600) ** 0.5


def test_nearest_cosines_do_not_depend_on_blocks(monkeypatch):
    monkeypatch.setattr("leaderboard.corpus_profile.profile.ROWS_PER_BLOCK", 7)
    rng = np.random.default_rng(1)
    a, b = normalize_rows(rng.normal(size=(30, 8))), normalize_rows(rng.normal(size=(11, 8)))
    a_to_b, b_to_a = nearest_cosines(a, b, NoProgress())
    assert a_to_b == pytest.approx(np.maximum(0, a @ b.T).max(axis=1))
    assert b_to_a == pytest.approx(np.maximum(0, a @ b.T).max(axis=0))


def test_tests_between_corpora_are_scipys():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=30), rng.normal(0.5, 2, size=40)
    result = compare("x", "train", a, b)
    assert (result.t, result.p_t) == pytest.approx(tuple(stats.ttest_ind(a, b, equal_var=False)))
    assert result.p_mann_whitney == pytest.approx(stats.mannwhitneyu(a, b).pvalue)
    assert compare("x", "train", np.ones(3), np.ones(4)).p_t == 1.0


def test_copies_are_listed_with_their_training_texts():
    train = ["one two three four five six seven eight nine ten", "a red fox", "Is it open?"]
    near, far = train[0].replace("nine", "zero"), train[0].replace("nine", "zero").replace("two", "zero")
    copies = find_copies([near, "IS it open", "IS it open", far, "a grey fox"], train)
    assert [(copy.text, copy.nearest, copy.distance) for copy in copies] == [("IS it open", train[2], 0.0), (near, train[0], 0.1)]


@pytest.mark.parametrize(("copy", "original"), [
    ("How do I pay", "How do I pay?"), ("It's a great phone", "It\N{RIGHT SINGLE QUOTATION MARK}s a great phone."),
    ('I love "this" phone', "I love \N{LEFT DOUBLE QUOTATION MARK}this\N{RIGHT DOUBLE QUOTATION MARK} phone\N{HORIZONTAL ELLIPSIS}"),
    ("CAFE\N{COMBINING ACUTE ACCENT} open", "caf\N{LATIN SMALL LETTER E WITH ACUTE} open"), ("STRASSE", "Stra\N{LATIN SMALL LETTER SHARP S}e!"),
    ("\N{FULLWIDTH LATIN CAPITAL LETTER F}ull width", "full width"), ("\N{INVERTED QUESTION MARK}Que\N{NO-BREAK SPACE}tal?", "que tal")])
def test_copies_and_unique_normalise_alike(copy, original):
    assert [(item.text, item.nearest, item.distance) for item in find_copies([copy, "another one"], [original])] == [(copy, original, 0.0)]
    assert unique_curve([copy], [original])[-1] == (1, 0.0)
    assert vocabulary([copy]) <= vocabulary([original])
    assert unique_curve(["another one"], [original])[-1] == (1, 1.0)


def test_every_text_that_is_not_unique_because_of_train_is_a_copy():
    rng = np.random.default_rng(2)
    words = ["a", "b", "c", "!", "d.", "E", "e", "'", "f,"]
    train, generated = ([" ".join(rng.choice(words, rng.integers(1, 4))) for _ in range(150)] for _ in range(2))
    copies = {copy.text for copy in find_copies(generated, train)}
    assert {text for text in generated if unique_curve([text], train)[-1][1] == 0} <= copies
    assert copies


def test_the_copies_are_those_of_all_pairs():
    rng = np.random.default_rng(3)
    train, generated = ([" ".join(rng.choice(list("abcdefghij"), rng.integers(6, 14))) for _ in range(200)] for _ in range(2))
    generated += [text.replace("a", "z", 1) for text in train[:50]]
    expected = set()
    for text in generated:
        distances = [Levenshtein.normalized_distance(text.split(), other.split()) for other in train]
        if min(distances) <= 0.15:
            expected.add((text, min(distances)))
    copies = {(copy.text, round(copy.distance, 9)) for copy in find_copies(generated, train)}
    assert copies == {(text, round(distance, 9)) for text, distance in expected}
    assert len(expected) > 20


def test_plausibility_by_n_grams_and_by_a_masked_model(tmp_path):
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

    surprise = ngram_surprise(TRAIN)
    near, far = (perplexity(surprises(texts, surprise)) for texts in (TEST, data.load_corpus("made_trains")[:60]))
    assert near < far / 2
    assert perplexity(np.zeros((0, 2))) is None
    words = Tokenizer(models.WordLevel(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.train_from_iterator(TRAIN, trainers.WordLevelTrainer(special_tokens=["<unk>", "<mask>"]))
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", mask_token="<mask>").save_pretrained(tmp_path)
    torch.manual_seed(1)
    model = BertForMaskedLM(BertConfig(vocab_size=words.get_vocab_size(), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)).eval()
    model.save_pretrained(tmp_path)
    total, count = model_surprise(str(tmp_path))(TRAIN[0])
    ids = torch.tensor(words.encode(TRAIN[0]).ids)
    assert count == len(ids)
    by_hand = 0.0
    for position in range(len(ids)):
        masked = ids.clone()
        masked[position] = words.token_to_id("<mask>")
        with torch.no_grad():
            by_hand -= float(torch.log_softmax(model(masked[None]).logits[0, position], dim=-1)[ids[position]])
    assert total == pytest.approx(by_hand, rel=1e-4)
    assert masked_surprise(str(tmp_path))(TRAIN[0]) == (total, count)
    with pytest.raises(TouchstoneError, match="cannot be loaded"):
        model_surprise(str(tmp_path / "none"))


# ---- the whole profile -------------------------------------------------------------------------------------------------

def bags(texts) -> np.ndarray:
    """Return hashed word counts as vectors."""
    rows = np.zeros((len(texts), 1000), np.float32)
    for row, text in enumerate(texts):
        for word in text.split():
            rows[row, sum(map(ord, word)) % 1000] += 1
    return rows


@pytest.fixture(scope="module")
def profile():
    return build_profile(TRAIN, TEST, GENERATED, load_scorers(TRAIN, bags, "bags"))


def test_the_profile_of_texts_with_copies_and_with_another_topic(profile):
    train, test, generated = profile.rows
    assert generated.texts == 80
    assert generated.unique == pytest.approx(70 / 80)
    assert generated.vocabulary >= len(vocabulary(GENERATED[-20:])) / 2 > test.vocabulary
    assert (train.syntactic, test.semantic, train.perplexity) == (None, None, None)
    assert generated.perplexity > test.perplexity
    assert generated.semantic.precision.value < train.semantic.precision.value
    assert {copy.text for copy in profile.copies} >= set(TRAIN[:10])
    assert all(copy.distance == 0 for copy in profile.copies[:10])
    assert profile.syntactic[50:60].tolist() == [1.0] * 10
    assert {(test.quantity, test.baseline) for test in profile.tests} == {
        ("semantic similarity to test", "train"), ("syntactic similarity to train", "test"), ("surprise per word", "test"), ("grammar errors per word", "train")}


def test_the_selection_prefers_texts_near_test_that_are_no_copies(profile):
    selected = select_best(profile, GENERATED, 20)
    assert len(selected) == len(set(selected)) == 20
    assert not set(selected) & set(TRAIN)
    assert selected == [text for text in GENERATED if text in selected]
    kept = list(map(normalize_text, select_best(profile, GENERATED, 500)))
    assert len(kept) == len(set(kept)) > 40
    assert all(Levenshtein.normalized_distance(a.split(), b.split()) > 0.15 for a, b in itertools.combinations(kept, 2))


def test_near_duplicates_are_dropped_in_order_of_preference():
    texts = ["battery died fast", "battery died fast", "one two three four five six seven", "one two three four five six zero", "", "", "x"]
    assert drop_near_duplicates(texts, 0.15) == [0, 2, 4, 6]
    rng = np.random.default_rng(4)
    texts = [" ".join(rng.choice(list("abcdef"), rng.integers(3, 15))) for _ in range(400)]
    expected = []
    for row, text in enumerate(texts):
        if all(Levenshtein.normalized_distance(text.split(), texts[other].split()) > 0.3 for other in expected):
            expected.append(row)
    assert drop_near_duplicates(texts, 0.3) == expected
    assert len(expected) < 390


def test_the_page_needs_no_network_and_escapes_texts(profile):
    hostile = [*GENERATED[:-1], "<script>alert(1)</script>"]
    page = to_html(profile, hostile)
    assert "<script>alert" not in page
    assert "<script src=" not in page
    assert json.loads(json.dumps(to_json(profile), allow_nan=False))["rows"][2]["name"] == "generated"


def test_the_figure_shows_every_text_with_the_good_corner_at_the_upper_right(profile):
    figure = draw_similarities({"a": (profile, GENERATED), "b": (profile, GENERATED)})
    for kind in ("histogram2dcontour", "scatter"):
        traces = [trace for trace in figure.data if trace.type == kind]
        assert [trace.name for trace in traces] == ["a", "b"]
        for trace in traces:
            np.testing.assert_array_equal(trace.x, profile.semantic)
            np.testing.assert_array_equal(trace.y, profile.syntactic)
    assert figure.layout.xaxis.range[0] < figure.layout.xaxis.range[1]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis2.range[1]             # reversed: few shared words are at the top
    assert figure.layout.xaxis.title.text.startswith("semantic")
    assert figure.layout.yaxis.title.text.startswith("syntactic")
    lines = {(line.x0, line.x1) if line.x0 == line.x1 else (line.y0, line.y1) for line in figure.layout.shapes}
    train, test, _ = profile.rows
    assert lines == {(train.semantic.precision.value,) * 2, (test.syntactic.precision.value,) * 2}


@pytest.mark.parametrize("ending", ["txt", "csv", "jsonl", "parquet"])
def test_texts_are_read_from_every_format(ending, tmp_path):
    path, texts = tmp_path / f"texts.{ending}", ["One, two", 'he said "three"', "NA"]
    rows = pd.DataFrame({"id": [1, 2, 3, 4], "text": [*texts, "  "]})
    {"txt": lambda: path.write_text("\n".join(rows.text)), "csv": lambda: rows.to_csv(path, index=False),
     "jsonl": lambda: rows.to_json(path, orient="records", lines=True), "parquet": lambda: rows.to_parquet(path)}[ending]()
    assert read_texts(str(path)) == texts


def test_unreadable_files_are_refused(tmp_path):
    pd.DataFrame({"words": ["a"]}).to_csv(tmp_path / "other.csv")
    (tmp_path / "empty.txt").write_text("\n \n")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    (tmp_path / "broken.jsonl").write_text("{")
    (tmp_path / "texts.docx").write_bytes(b"")
    for name, sentence in (("other.csv", 'no column "text"; it has'), ("empty.txt", "contains no text"), ("broken.parquet", "cannot be read"),
                           ("broken.jsonl", "cannot be read"), ("texts.docx", "ends in .txt, .csv"), ("none.txt", "does not exist")):
        with pytest.raises(TouchstoneError, match=sentence):
            read_texts(str(tmp_path / name))
    with pytest.raises(TouchstoneError, match='There is no dataset "nothing"'):
        read_texts("nothing")
    assert read_texts("made_trains") == list(data.load_corpus("made_trains"))


def test_the_command(tmp_path):
    for name, texts in (("train", TRAIN[:40]), ("test", TEST[:20]), ("generated", GENERATED[40:])):
        (tmp_path / f"{name}.txt").write_text("\n".join(texts))
    words = [word for name in ("train", "test", "generated") for word in (f"--{name}", tmp_path / f"{name}.txt")]
    done = touchstone("profile", *words, "--json", "--html", tmp_path / "page[1].html", "--keep", 5, "--filtered", tmp_path / "best.txt")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [row["name"] for row in result["rows"]] == ["train", "test", "generated"]
    assert result["suspected_copies"] >= 10
    assert len((tmp_path / "best.txt").read_text().splitlines()) == 5
    assert "</html>" in (tmp_path / "page[1].html").read_text()
    assert f"{tmp_path / 'page[1].html'}\n" in done.stderr                          # brackets are no markup
    refused = touchstone("profile", *words, "--keep", 5)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
