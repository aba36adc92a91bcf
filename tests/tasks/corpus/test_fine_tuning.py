"""Generators by hand and for real, and the task that asks about what they write."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.units import Unit
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.score_scale import ScoreScale
from harness.results.outcomes import Status
from harness.submission.submission import load_submission
from tasks.corpus.fine_tuning import FineTuning, GeneratorSettings, Settings, TrainingCurve, match_lengths
from tasks.data.loading import load_corpus
from tasks.generators import causal_lm as gpt2
from tasks.generators.label_filter import NaiveBayes
from tasks.generators.ngrams import END, START, NGrams
from tasks.generators.progressive import Labelled, Step, generate_steps, training_sizes, type_token_ratio

TASK = FineTuning()
KITCHEN = load_corpus("made_kitchen")
TRAINS = load_corpus("made_trains")
MIXED = Labelled([text for pair in zip(KITCHEN[:480], TRAINS[:480], strict=True) for text in pair], ["kitchen", "trains"] * 480)
UNLABELLED = Labelled(KITCHEN[:500], [""] * 500)


# ---- n-grams -----------------------------------------------------------------------------------------------------------

def test_kneser_ney_by_hand():
    """Of "a b" and "a c", order 2, D = 3/4.  Different words before a, b, c: 1 each, before the end: 2, of 5; below them 1/5."""
    model = NGrams(["a b", "a c"], 2)
    below = 0.75 * 4 / 5 / 5
    assert model.probability("b", ["z"]) == pytest.approx(0.25 / 5 + below)                # z was never seen: the words alone
    assert model.probability(END, ["z"]) == pytest.approx(1.25 / 5 + below)
    assert model.probability("b", ["a"]) == pytest.approx(0.25 / 2 + 0.75 * (0.25 / 5 + below))
    assert model.probability("a", [START]) == pytest.approx(1.25 / 2 + 0.75 / 2 * (0.25 / 5 + below))
    assert model.probability("unseen", ["a"]) == pytest.approx(0.75 * below)
    assert model.probability("b", ["z"]) != NGrams(["a b", "a c"], 2, words=100).probability("b", ["z"])


def test_single_words_are_counted_as_they_are():
    model = NGrams(["a b", "a c"], 1)
    assert model.probability("a", []) == pytest.approx((2 - 0.75) / 6 + 0.75 * 4 / 6 / 5)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_probabilities_after_any_history_sum_to_1(order):
    model = NGrams(KITCHEN[:60], order, words=400)
    for history in ([START], [START, "stir"], ["stir", "the"], ["a", "clay", "pot"], ["never", "seen"]):
        total = sum(model.probability(word, history) for word in model.vocabulary)
        unseen = (400 - len(model.vocabulary)) * model.probability("never seen", history)
        assert total + unseen == pytest.approx(1)


def test_what_is_written_is_drawn_from_the_probabilities():
    model, rng = NGrams(["a b", "a c", "a", "b c b"], 2), np.random.default_rng(1)
    drawn = [model._next(("a",), rng) for _ in range(20_000)]
    left = 1 - sum(model.probability(word, ["a"]) for word in model.vocabulary)             # of unseen words, spread evenly
    for word in model.vocabulary:
        expected = model.probability(word, ["a"]) + left / len(model.vocabulary)
        assert drawn.count(word) / 20_000 == pytest.approx(expected, abs=5 * math.sqrt(expected / 20_000))


def test_perplexity_is_the_inverse_of_the_geometric_mean_probability():
    model = NGrams(["a b", "a c"], 2)
    chain = [model.probability("a", [START]), model.probability("c", ["a"]), model.probability(END, ["c"])]
    assert model.perplexity(["a c"]) == pytest.approx(math.prod(chain) ** (-1 / 3))


def test_held_out_perplexity_falls_step_by_step():
    for texts in (KITCHEN, load_corpus("made_trains"), load_corpus("made_weather")):
        steps = generate_steps(Labelled(texts[:500], [""] * 500), texts[500:], 8, 5, seed=1)
        perplexities = [step.perplexity for step in steps]
        assert all(np.diff(perplexities) < 0)
        assert [step.order for step in steps] == [1, 1, 2, 2, 3, 3, 4, 4]
        assert [step.trained_on for step in steps] == [62, 125, 188, 250, 312, 375, 438, 500]


def test_growth():
    assert [training_sizes(step, 40, 4000) for step in (1, 10, 11, 40)] == [(1, 100), (1, 1000), (2, 1100), (4, 4000)]


def test_what_is_generated_depends_on_the_seed_and_on_nothing_else():
    first, again, other = ([step.texts for step in generate_steps(UNLABELLED, KITCHEN[500:], 3, 10, seed)] for seed in (1, 1, 2))
    assert first == again != other
    assert all(text for corpus in first for text in corpus)


def test_type_token_ratio_by_hand():
    assert type_token_ratio(["The cat", "the dog sat"]) == 4 / 5


def test_naive_bayes_by_hand():
    """Of x: a a b; of y: b.  With one more of each: a is 3/5 of x, 1/3 of y; the texts are 2 to 1."""
    judge = NaiveBayes(["a a", "b", "b"], ["x", "x", "y"])
    assert judge.confidences("a unseen") == pytest.approx(np.array([2 / 3 * 3 / 5, 1 / 3 * 1 / 3]) / (2 / 3 * 3 / 5 + 1 / 9))


def test_by_label_every_label_is_written_for_and_a_classifier_chooses():
    texts = [text for pair in zip(KITCHEN, load_corpus("made_trains"), strict=True) for text in pair]
    train = Labelled(texts[:400], ["kitchen", "trains"] * 200)
    last = generate_steps(train, texts[400:440], 2, 30, seed=3)[-1]
    judge = NaiveBayes(texts[600:], ["kitchen", "trains"] * 300)
    predicted = [judge.labels[int(judge.confidences(text).argmax())] for text in last.texts]
    assert predicted.count("kitchen") == predicted.count("trains") == 15


# ---- GPT-2 -------------------------------------------------------------------------------------------------------------

def save_tiny_model(folder: Path, texts: list[str]) -> str:
    """Save a model of two layers with random weights, and a tokenizer of the words of the texts; return its folder."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=["<end>", "<unk>"]))
    PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<end>", unk_token="<unk>").save_pretrained(folder)
    torch.manual_seed(1)
    GPT2LMHeadModel(GPT2Config(vocab_size=words.get_vocab_size(), n_positions=64, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> str:
    return save_tiny_model(tmp_path_factory.mktemp("tiny"), KITCHEN)


@pytest.fixture(scope="module")
def tiny_with_labels(tmp_path_factory) -> str:
    return save_tiny_model(tmp_path_factory.mktemp("tiny_with_labels"), [*KITCHEN, *TRAINS, "kitchen trains"])


def test_gpt2_learns_writes_and_is_kept(tiny, monkeypatch):
    monkeypatch.setattr(gpt2, "LEARNING_RATE", 5e-3)            # random weights have further to go
    train = Labelled(KITCHEN[:96], [""] * 96)
    steps = gpt2.finetune_and_generate(tiny, train, KITCHEN[500:510], 3, 4, seed=1)
    assert [step.trained_on for step in steps] == [32, 64, 96]
    assert all(np.diff([step.perplexity for step in steps]) < 0)
    assert all(len(step.texts) == 4 and all(step.texts) for step in steps)
    words = {word for text in KITCHEN for word in text.split()}
    assert {word for text in steps[-1].texts for word in text.split()} <= words
    monkeypatch.setattr(gpt2, "TunedGenerator", None)                    # nobody is asked twice
    assert gpt2.finetune_and_generate(tiny, train, KITCHEN[500:510], 3, 4, seed=1) == steps


def test_gpt2_writes_for_every_label_and_a_classifier_chooses(tiny_with_labels, monkeypatch):
    monkeypatch.setattr(gpt2, "LEARNING_RATE", 5e-3)
    last = gpt2.finetune_and_generate(tiny_with_labels, MIXED, [*KITCHEN[500:505], *TRAINS[500:505]], 2, 20, seed=1)[-1]
    judge = NaiveBayes([*KITCHEN[300:], *TRAINS[300:]], ["kitchen"] * 300 + ["trains"] * 300)
    predicted = [judge.predict(text) for text in last.texts]
    assert predicted.count("kitchen") == predicted.count("trains") == 10
    words = {word for text in [*KITCHEN, *TRAINS] for word in text.split()}
    assert {word for text in last.texts for word in text.split()} <= words      # the label is no part of a text
    unlabelled = Labelled(MIXED.texts, [""] * len(MIXED.texts))
    assert gpt2.finetune_and_generate(tiny_with_labels, unlabelled, KITCHEN[500:505], 2, 20, seed=1)[-1].texts != last.texts


def test_gpt2_generates_given_the_label_before_the_filter(tiny_with_labels, monkeypatch):
    monkeypatch.setattr(gpt2, "LEARNING_RATE", 5e-3)
    tuned = gpt2.TunedGenerator(tiny_with_labels, 1)
    end, (kitchen,), (trains,) = 0, *(tuned.tokenizer(label)["input_ids"] for label in ("kitchen", "trains"))
    assert (tuned.prompt(""), tuned.prompt("kitchen"), tuned.prompt("trains")) == ([end], [end, kitchen, end], [end, trains, end])
    for _ in range(4):
        tuned.learn(MIXED)
    judge = NaiveBayes([*KITCHEN[300:], *TRAINS[300:]], ["kitchen"] * 300 + ["trains"] * 300)
    for label, other in (("kitchen", "trains"), ("trains", "kitchen")):
        texts = tuned.write(20, label)
        assert [judge.predict(text) for text in texts].count(label) >= 17
        assert tuned.perplexity(texts, [label] * 20) < tuned.perplexity(texts, [other] * 20)


def test_empty_texts_of_a_label_are_refused_in_a_sentence(tiny, monkeypatch):
    tuned = gpt2.TunedGenerator(tiny, 1)
    monkeypatch.setattr(tuned.tokenizer, "batch_decode", lambda rows, **_: [""] * len(rows))
    with pytest.raises(TouchstoneError, match='empty texts for 2 of 2 texts with the label "trains" in 50 attempts. Choose another model'):
        tuned.write(2, "trains")


def test_the_perplexity_of_gpt2_is_that_of_its_probabilities(tiny):
    import torch

    tuned = gpt2.TunedGenerator(tiny, 1)
    texts = [KITCHEN[0], KITCHEN[1]]
    surprise, count = 0.0, 0
    for text in texts:
        ids = [0, *tuned.tokenizer(text)["input_ids"], 0]
        tuned.model.eval()
        with torch.no_grad():
            logs = torch.log_softmax(tuned.model(torch.tensor([ids])).logits[0], dim=-1)
        surprise -= float(sum(logs[position, ids[position + 1]] for position in range(len(ids) - 1)))
        count += len(ids) - 1
    assert tuned.perplexity(texts) == pytest.approx(math.exp(surprise / count), rel=1e-4)


def test_weights_that_are_not_there_are_refused_in_a_sentence(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(TouchstoneError, match="cannot be loaded"):
        gpt2.TunedGenerator(str(tmp_path / "empty"), 1)


# ---- the task ----------------------------------------------------------------------------------------------------------

def test_units_name_the_weights(tiny, context):
    sources = (GeneratorSettings(name="made_kitchen"),)
    units = list(TASK.units(Settings(sources=sources, steps=2, n=5, seeds=2, generator="gpt2", weights=tiny), context))
    assert {unit.parameters["digest"] for unit in units} == {gpt2.digest_of_weights(tiny)}
    by_label = (GeneratorSettings(name="made_kitchen", by_label=True),)
    labelled = next(TASK.units(Settings(sources=by_label, steps=2, n=5, seeds=1, generator="gpt2", weights=tiny), context))
    assert labelled.parameters["label_prompts"]                 # other units than those of the version that ignored the labels
    with pytest.raises(TouchstoneError, match='"made_kitchen" has no labels. Remove the setting `by_label`'):
        TASK.corpora(labelled)
    with pytest.raises(TouchstoneError, match='if and only if generator = "gpt2"'):
        list(TASK.units(Settings(sources=sources, steps=2, n=5, seeds=2, weights=tiny), context))
    with pytest.raises(TouchstoneError, match='n=300 needs 900 texts of "made_kitchen", which has 600'):
        TASK.corpora(next(TASK.units(Settings(sources=sources, steps=2, n=300, seeds=1), context)))
    with pytest.raises(TouchstoneError, match="has no labels"):
        TASK.corpora(next(TASK.units(Settings(sources=(GeneratorSettings(name="made_kitchen", by_label=True),), steps=2, n=5, seeds=1), context)))


def test_gpt2_is_asked_about_like_any_other(tiny, context, worker_slot, inputs):
    unit = next(TASK.units(Settings(sources=(GeneratorSettings(name="made_kitchen"),), steps=2, n=5, seeds=1, train=32, generator="gpt2", weights=tiny), context))
    outcome = worker_slot.run_unit(load_submission(SUBMISSIONS / "chi.py").entries[0], TaskUnit(TASK, unit), inputs)
    assert outcome.status is Status.ANSWERED
    assert len(outcome.observation.distances) == len(outcome.observation.perplexities) == 2


def test_corpora_of_a_unit(smoke):
    unit = smoke.units(TASK)[0]
    corpora, steps = TASK.corpora(unit)
    assert [len(corpus) for corpus in corpora] == [20] * (1 + 4 + 2 * 2)
    assert corpora[1:5] == [step.texts for step in steps]
    assert set(corpora[0]) <= set(KITCHEN)
    assert not set(corpora[5]) & set(corpora[6])
    assert TASK.corpora(unit)[0] == corpora


def test_balanced_corpora_have_texts_of_the_same_lengths(context):
    sources = (GeneratorSettings(name="made_kitchen"),)
    plain, balanced = (next(TASK.units(Settings(sources=sources, steps=4, n=20, seeds=1, self_distances=2, **more), context)) for more in ({}, {"balanced": True}))
    assert "balanced" not in plain.parameters               # units of earlier versions keep their ids
    corpora, steps = TASK.corpora(balanced)
    assert [len(corpus) for corpus in corpora] == [20] * (1 + 4 + 2 * 2 + 1)
    assert corpora[1:5] == [step.texts for step in steps]
    lengths = [[len(text) for text in corpus] for corpus in (*corpora[:5], corpora[-1])]
    assert all(of_corpus == lengths[0] for of_corpus in lengths)
    assert set(corpora[0]) <= set(KITCHEN)
    assert corpora[-1] != corpora[1]
    assert corpora == TASK.corpora(balanced)[0]


def test_sources_that_cannot_be_balanced(context):
    sources = (GeneratorSettings(name="made_kitchen"),)
    with pytest.raises(TouchstoneError, match='n=160 needs 640 texts of "made_kitchen", which has 600'):
        TASK.corpora(next(TASK.units(Settings(sources=sources, steps=2, n=160, seeds=1, balanced=True), context)))
    with pytest.raises(TouchstoneError, match='balanced corpora need many texts, so they need generator = "ngrams"'):
        next(TASK.units(Settings(sources=sources, steps=2, n=5, seeds=1, generator="gpt2", weights="x", balanced=True), context))
    steps = [Step(["ab", "abc"] * 4, 1, 9, 1.0), Step(["ab", "abcd"] * 4, 1, 9, 1.0)]
    with pytest.raises(TouchstoneError, match='needs 5 texts of "some" that are as long as generated ones; 2 of 9 are'):
        match_lengths(["ab"] * 2 + ["a" * 9] * 7, steps, 5, "some")


def curve(distances, free, returns="distance") -> TrainingCurve:
    read = (lambda x: x) if returns == "distance" else (lambda x: 20 - x)
    return TrainingCurve(tuple(map(read, distances)), tuple(map(read, free)), ScoreScale(returns, None, None if returns == "distance" else 20.0), (0.5, 0.4, 0.7), 0.6, (9.0, 8.0, 7.0))


@pytest.mark.parametrize("returns", ["distance", "similarity"])
def test_the_measures_by_hand(returns):
    unit = Unit("fine_tuning", 1, ("a",), {}, (), None, 1)
    first, second = TASK.measure_all([unit, unit], [curve((9, 7, 5), (1, 2), returns), curve((5, 7, 9), (3, 4), returns)])
    # self-distances 1, 2, 3, 4: mean 2.5, sd 1.291
    assert first.score == pytest.approx(1)
    assert first.values["ifc_gap"] == pytest.approx((5 - 2.5) / 1.29099, abs=1e-4)
    assert first.values["first_gap"] == pytest.approx((9 - 2.5) / 1.29099, abs=1e-4)
    assert first.values["type_token_ratio_rise"] == pytest.approx(0.2)
    assert second.score == pytest.approx(-1)
    assert TASK.measure(unit, curve((3, 3, 3), (1, 2))).score is None


def test_a_balanced_score_is_the_mean_of_both_ends():
    unit = Unit("fine_tuning", 1, ("a",), {}, (), None, 1)
    def score(distances, from_first):
        return TASK.measure(unit, replace(curve(distances, (1, 2)), from_first=from_first)).score
    assert score((9, 7, 5), (1, 2, 3)) == pytest.approx(1)
    assert score((9, 7, 5), (3, 2, 1)) == pytest.approx(0)          # as any statistic of the generated corpora alone
    assert score((9, 7, 5), (3, 3, 3)) == pytest.approx(0.5)
    assert score((9, 9, 9), (3, 3, 3)) is None
    values = TASK.measure(unit, replace(curve((9, 7, 5), (1, 2)), from_first=(3, 1, 2))).values
    assert (values["ifc_monotonicity"], values["away_from_first"]) == pytest.approx((1, -0.5))


def test_a_metric_sees_the_generator_learn(context, worker_slot, inputs):
    units = list(TASK.units(Settings(sources=(GeneratorSettings(name="made_kitchen"),), steps=6, n=100, seeds=3), context))
    outcomes = [worker_slot.run_unit(load_submission(SUBMISSIONS / "chi.py").entries[0], TaskUnit(TASK, unit), inputs) for unit in units]
    assert {outcome.status for outcome in outcomes} == {Status.ANSWERED}
    measured = TASK.measure_all(units, [outcome.observation for outcome in outcomes])
    assert np.mean([measures.score for measures in measured]) > 0.5
    assert all(measures.values["first_gap"] > measures.values["ifc_gap"] for measures in measured)
