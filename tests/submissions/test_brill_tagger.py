"""The tags of Brill's tagger in two submissions against `nltk`, whose code tests the conditions of a rule independently.

The submissions apply the rules of the context in the order of TextBlob: word by word, from the left; of the rules that fit a word's
first tag the last counts.  `nltk.tag.brill.BrillTagger` applies them in Brill's order: rule by rule to the whole sentence, each to the
tags that the rules before have left.  A word before may therefore have its last tag in the one and its first tag in the other, and a
tag that changes twice does so only in the latter.  The two agree by definition
- in every word, if the rules of nltk are applied in TextBlob's order;
- for one rule alone, in every word whose predecessors keep their tags, and in all words if no tag to the left of a word in its
  condition is one that it replaces or sets;
- in sentences to which no rule applies.
With all rules of TextBlob the two orders give the same tag to 97% of the words of 1,500 texts from Yamshchikov et al. 2020.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from nltk.tag import UnigramTagger
from nltk.tag.brill import BrillTagger, Pos, Word
from nltk.tbl.feature import Feature
from nltk.tbl.rule import Rule

from harness.base.errors import TouchstoneError
from harness.base.progress import NoProgress
from harness.models.package_index import PACKAGE_INDEX_MODELS
from tests.support.corpora import Direct
from tests.support.sentences import SENTENCES

Tagged = tuple[str, str]
EDGE = [("STAART", "STAART")] * 3
SUBMISSIONS = ("tag_edit_distance", "pos_distance")
# Templates by command, as Brill's tagger 1.14 documents them: features of x, or of x and of y.
TEMPLATES = {
    "PREVTAG": [Pos([-1])], "NEXTTAG": [Pos([1])], "PREV2TAG": [Pos([-2])], "NEXT2TAG": [Pos([2])], "PREV1OR2TAG": [Pos([-2, -1])],
    "NEXT1OR2TAG": [Pos([1, 2])], "PREV1OR2OR3TAG": [Pos([-3, -2, -1])], "NEXT1OR2OR3TAG": [Pos([1, 2, 3])],
    "CURWD": [Word([0])], "PREVWD": [Word([-1])], "NEXTWD": [Word([1])], "PREV1OR2WD": [Word([-2, -1])], "NEXT1OR2WD": [Word([1, 2])],
    "SURROUNDTAG": [Pos([-1]), Pos([1])], "PREVBIGRAM": [Pos([-2]), Pos([-1])], "NEXTBIGRAM": [Pos([1]), Pos([2])],
    "LBIGRAM": [Word([-1]), Word([0])], "RBIGRAM": [Word([0]), Word([1])], "WDPREVTAG": [Pos([-1]), Word([0])],
    "WDNEXTTAG": [Word([0]), Pos([1])], "WDAND2AFT": [Word([0]), Word([2])], "WDAND2TAGBFR": [Pos([-2]), Word([0])],
    "WDAND2TAGAFT": [Word([0]), Pos([2])], "PREVWDTAG": [Word([-1]), Pos([-1])], "NEXTWDTAG": [Word([1]), Pos([1])]}


class KeptTags:
    """A first tagger of sentences that have tags."""

    def tag(self, tagged: Sequence[Tagged]) -> list[Tagged]:
        return list(tagged)


def conditions_of(line: str) -> list[tuple[Feature, str]]:
    """Return the conditions of a rule; a value without a feature, which one rule of TextBlob's has, means nothing."""
    _, _, command, *values = line.split()
    return list(zip(TEMPLATES[command.upper()], values, strict=False))


def translate(line: str, tags: Sequence[str]) -> list[Rule]:
    """Return a rule of the context as rules of nltk; "*" stands for any tag."""
    old, new, command, *_ = line.split()
    conditions = tuple(conditions_of(line))
    return [Rule(command, tag, new, conditions) for tag in (tags if old == "*" else [old])]


def tag_word_by_word(rules: Sequence[Rule], tagged: Sequence[Tagged]) -> list[str]:
    """Apply rules of nltk in TextBlob's order."""
    tokens = [*EDGE, *tagged, *EDGE]
    for i in range(3, len(tokens) - 3):
        fitting = [rule.replacement_tag for rule in rules if rule.applies(tokens, i)]
        if fitting:
            tokens[i] = (tokens[i][0], fitting[-1])
    return [tag for _, tag in tokens[3:-3]]


def tag_rule_by_rule(rules: Sequence[Rule], tagged: Sequence[Tagged]) -> list[str]:
    """Apply rules in the order of nltk."""
    return [tag for _, tag in BrillTagger(KeptTags(), rules).tag([*EDGE, *tagged, *EDGE])[3:-3]]


def load_rules(folder, name: str, lines: Sequence[str]):
    """Return the module of a submission with these rules of the context."""
    for file, content in (("lexicon", ["the DT"]), ("morphology", []), ("context", lines)):
        (folder / f"{file}.txt").write_text("\n".join(content))
    models = {"brill-tagger": str(folder)}
    if name == "pos_distance":
        (folder / "words.txt").write_text("the")
        np.save(folder / "vectors.npy", np.zeros((1, 2), np.float32))
        models["glove-6b-50d"] = str(folder)
    return Direct(name, models).module


def tag_with(module, tagged: Sequence[Tagged]) -> list[str]:
    return module.in_context(*map(list, zip(*tagged, strict=True)))


def draw_lines(rng: np.random.Generator) -> list[str]:
    """Return rules of every command over few tags and words, so that many apply."""
    lines = []
    for command, features in TEMPLATES.items():
        for _ in range(2):
            values = [rng.choice(TAGS if isinstance(feature, Pos) else WORDS) for feature in features]
            lines.append(" ".join([rng.choice([*TAGS, "*"]), rng.choice(TAGS), command, *values]))
    return [lines[row] for row in rng.permutation(len(lines))]


def draw_sentences(rng: np.random.Generator, words: Sequence[str], tags: Sequence[str], count: int) -> Iterator[list[Tagged]]:
    for length in rng.integers(1, 16, count):
        yield [(str(rng.choice(words)), str(rng.choice(tags))) for _ in range(length)]


TAGS, WORDS = ("A", "B", "C", "D"), ("u", "v", "w")


@pytest.mark.unit
@pytest.mark.parametrize("name", SUBMISSIONS)
@pytest.mark.parametrize("seed", range(5))
def test_rules_of_every_command_apply_where_those_of_nltk_do(name, seed, tmp_path):
    rng = np.random.default_rng(seed)
    lines = draw_lines(rng)
    module, rules = load_rules(tmp_path, name, lines), [rule for line in lines for rule in translate(line, TAGS)]
    changed = 0
    for tagged in draw_sentences(rng, WORDS, TAGS, 30):
        assert tag_with(module, tagged) == tag_word_by_word(rules, tagged)
        changed += tag_with(module, tagged) != [tag for _, tag in tagged]
    assert changed > 20


@pytest.mark.unit
@pytest.mark.parametrize("name", SUBMISSIONS)
def test_the_order_of_application_differs_from_that_of_nltk(name, tmp_path):
    """A tag that changes twice, and a word whose predecessor changes, by hand."""
    tagged = [("x", "A"), ("y", "A"), ("z", "A")]
    lines = ["A B CURWD y", "B C CURWD y"]                  # nltk: A to B to C; TextBlob: the rule for B does not fit the first tag
    rules = [rule for line in lines for rule in translate(line, TAGS)]
    assert tag_rule_by_rule(rules, tagged) == ["A", "C", "A"]
    assert tag_with(load_rules(tmp_path, name, lines), tagged) == ["A", "B", "A"]
    lines = ["A B PREVTAG A"]                               # nltk: both have an A before; TextBlob: y is B when z is looked at
    assert tag_rule_by_rule(translate(lines[0], TAGS), tagged) == ["A", "B", "B"]
    assert tag_with(load_rules(tmp_path, name, lines), tagged) == ["A", "B", "A"]


def compare_single_rule(module, line: str, sentences: Sequence[Sequence[Tagged]], tags: Sequence[str]) -> int:
    """Compare one rule with BrillTagger wherever both agree by definition; return the number of words compared."""
    old, new, *_ = line.split()
    left_tags = {value for feature, value in conditions_of(line) if isinstance(feature, Pos) and min(feature.positions) < 0}
    compared = 0
    for tagged in sentences:
        first, ours, theirs = [tag for _, tag in tagged], tag_with(module, tagged), tag_rule_by_rule(translate(line, tags), tagged)
        if not left_tags & {old, new}:
            assert ours == theirs, line
        for i in range(len(tagged)):
            if ours[max(0, i - 3):i] == first[max(0, i - 3):i]:
                assert ours[i] == theirs[i], (line, tagged)
                compared += 1
    return compared


@pytest.mark.unit
@pytest.mark.parametrize("name", SUBMISSIONS)
def test_single_rules_are_those_of_brill_tagger(name, tmp_path):
    rng = np.random.default_rng(7)
    sentences = list(draw_sentences(rng, WORDS, TAGS, 20))
    for line in draw_lines(rng):
        if line.startswith("*"):            # in nltk one rule for each tag, applied one after the other
            continue
        assert compare_single_rule(load_rules(tmp_path, name, [line]), line, sentences, TAGS) > 50, line


@pytest.fixture(scope="module")
def brill():
    """The folder of the lexicon and the rules that TextBlob carries."""
    model = PACKAGE_INDEX_MODELS["brill-tagger"]
    try:
        model.fetch(NoProgress())
    except TouchstoneError as refusal:
        pytest.skip(str(refusal))
    return model.path()


def read_lines(path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith(";;;")]


@pytest.fixture(scope="module")
def listed_sentences(brill):
    """Sentences of words that the lexicon lists, with their first tags by nltk's UnigramTagger: our own, and words at random."""
    lexicon = dict(line.split()[:2] for line in read_lines(brill / "lexicon.txt"))
    rng = np.random.default_rng(3)
    in_rules = sorted({value for line in read_lines(brill / "context.txt") for value in line.split()[3:]} & set(lexicon))
    others = rng.choice(sorted(lexicon), 500).tolist()
    drawn = [rng.choice(in_rules + others, rng.integers(2, 20)).tolist() for _ in range(150)]
    own = [[word for word in sentence.split() if word in lexicon] for sentence in SENTENCES]
    tagger = UnigramTagger(model=lexicon)
    return [tagger.tag(words) for words in (*own, *drawn) if words]


@pytest.mark.network
@pytest.mark.parametrize("name", SUBMISSIONS)
def test_the_rules_of_textblob_give_the_tags_of_nltk_word_by_word(name, brill, listed_sentences, tmp_path):
    lines = read_lines(brill / "context.txt")
    tags = sorted({tag for line in lines for tag in line.split()[:2]} | {tag for tagged in listed_sentences for _, tag in tagged} - {"*"})
    rules = [rule for line in lines for rule in translate(line, tags)]
    module = load_rules(tmp_path, name, lines)
    tagger = Direct(name, {"brill-tagger": str(brill), "glove-6b-50d": str(tmp_path)}).module
    changed = 0
    for tagged in listed_sentences:
        ours, first = tag_with(module, tagged), [tag for _, tag in tagged]
        assert ours == tag_word_by_word(rules, tagged)
        changed += sum(a != b for a, b in zip(ours, first, strict=True))
        if not any(rule.applies([*EDGE, *tagged, *EDGE], i + 3) for rule in rules for i in range(len(tagged))):
            assert ours == tag_rule_by_rule(rules, tagged) == first
        words = [word for word, _ in tagged]
        if tagger.WORD.findall(" ".join(words)) == words:
            assert list(tagger.tag_text(" ".join(words))) == list(zip(words, ours, strict=True))
    assert changed > 100


@pytest.mark.network
def test_each_rule_of_textblob_is_that_of_brill_tagger(brill, listed_sentences, tmp_path):
    tags = sorted({tag for tagged in listed_sentences for _, tag in tagged})
    for line in read_lines(brill / "context.txt"):
        module = load_rules(tmp_path, "tag_edit_distance", [line])
        assert compare_single_rule(module, line, listed_sentences[::10], tags) > 0, line
