"""BERTScore: the model in NumPy gives the vectors of transformers; the score is that of the paper, token by token."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from harness.models.registry import MODELS
from tests.support.corpora import Direct
from tests.support.sentences import ORDINARY, SENTENCES

LONG = "The ferry, however, did not leave the old harbour before noon. " * 60           # more tokens than the model reads


@pytest.fixture(scope="module")
def vectors() -> dict[str, tuple[list[int], np.ndarray]]:
    """By transformers: of each text its tokens, and the last layer's vectors, of length one."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = str(MODELS["minilm"].path())
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    found: dict[str, Any] = {}
    for text in {*SENTENCES, LONG}:
        read = tokenizer(text, truncation=True, max_length=512, return_tensors="pt")
        with torch.inference_mode():
            hidden = torch.nn.functional.normalize(model(**read).last_hidden_state[0], dim=-1)
        found[text] = read["input_ids"][0].tolist(), hidden.numpy().astype(float)
    return found


def metric(**parameters: object) -> Direct:
    return Direct("bertscore", {"minilm": str(MODELS["minilm"].path())}, **parameters)


def test_vectors_are_those_of_transformers(vectors):
    ours = metric().module
    for text, (tokens, theirs) in vectors.items():
        read = ours.encode_all([text])[text]
        assert read.tokens == tokens
        np.testing.assert_allclose(read.vectors, theirs, rtol=0, atol=2e-6)      # float32, six layers, sums in another order
    assert len(vectors[LONG][0]) == 512


def scored(x: tuple[list[int], np.ndarray], y: tuple[list[int], np.ndarray], count: dict[int, float] | None) -> float:
    """Zhang et al. 2020, equations 1 to 4, of all tokens but the first and the last, which can be found all the same."""
    def directed(one: tuple[list[int], np.ndarray], other: tuple[list[int], np.ndarray]) -> float:
        weights = [1.0 if count is None else count[token] for token in one[0][1:-1]]
        best = [max(float(vector @ there) for there in other[1]) for vector in one[1][1:-1]]
        return float(np.dot(weights, best) / sum(weights)) if weights else 0.0

    recall, precision = directed(x, y), directed(y, x)
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


@pytest.mark.parametrize("weighted", [False, True])
def test_the_score_is_that_of_the_paper(weighted, vectors):
    ours = metric(weighted=weighted)
    ours.functions["fit"](list(ORDINARY))
    having = Counter(token for text in ORDINARY for token in set(vectors[text][0]))
    count = {token: float(np.log((len(ORDINARY) + 1) / (having[token] + 1))) for text in SENTENCES for token in vectors[text][0]}
    a, b = [*SENTENCES[:40], *SENTENCES[:40]], [*SENTENCES[1:41], *SENTENCES[:40]]
    expected = [scored(vectors[x], vectors[y], count if weighted else None) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(ours.answer(a, b), expected, rtol=0, atol=1e-5)
    assert np.ptp(expected) > 0.5


def test_matrix_is_the_pairs_and_company_changes_nothing():
    ours = metric()
    a, b = list(SENTENCES[::3]), list(SENTENCES[1::4])
    ours.module.TOKENS_AT_ONCE = 64         # several parts
    cross = ours.functions["matrix"](a, b)
    ours.module.cache.clear()
    pairs = ours.answer([x for x in a for _ in b], [y for _ in a for y in b])
    np.testing.assert_allclose(cross, np.reshape(pairs, cross.shape), rtol=0, atol=1e-6)
    ours.module.cache.clear()
    assert ours.answer(a[:1], b[:1]) == pytest.approx(pairs[:1], abs=1e-6)


def test_another_bert_is_computed_as_transformers_does_and_what_is_none_is_refused(tmp_path):
    """A small one with random weights: other heads, another epsilon, and the names that a whole BERT gives its weights."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

    torch.manual_seed(3)
    AutoTokenizer.from_pretrained(str(MODELS["minilm"].path())).save_pretrained(tmp_path)
    small = BertForMaskedLM(BertConfig(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                                       max_position_embeddings=64, layer_norm_eps=1e-5)).eval()
    small.save_pretrained(tmp_path)
    ours = Direct("bertscore", {"owner/small": str(tmp_path)}).module
    for text, read in ours.encode_all(list(ORDINARY[:5])).items():
        with torch.inference_mode():
            theirs = torch.nn.functional.normalize(small.bert(torch.tensor([read.tokens])).last_hidden_state[0], dim=-1)
        np.testing.assert_allclose(read.vectors, theirs.numpy(), rtol=0, atol=2e-6, err_msg=text)
    config = tmp_path / "config.json"
    config.write_text(config.read_text().replace('"model_type": "bert"', '"model_type": "roberta"'))
    with pytest.raises(ValueError, match="owner/small is not a BERT model"):
        Direct("bertscore", {"owner/small": str(tmp_path)})


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_bert_score(weighted):
    """Of one pair per call: of several, the package matches tokens whose best cosine is negative with padding, at 0."""
    from bert_score import BERTScorer

    package = BERTScorer(model_type=str(MODELS["minilm"].path()), num_layers=6, idf=weighted, device="cpu", nthreads=0,
                         idf_sents=list(ORDINARY) if weighted else None, use_fast_tokenizer=True)
    ours = metric(weighted=weighted)
    ours.functions["fit"](list(ORDINARY))
    a, b = [*ORDINARY, *ORDINARY[:10]], [*ORDINARY[1:], ORDINARY[0], *ORDINARY[:10]]
    theirs = [float(package.score([x], [y])[2]) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(ours.answer(a, b), theirs, rtol=0, atol=1e-5)
