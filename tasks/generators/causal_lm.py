"""GPT-2, or any causal model that `transformers` can load, fine-tuned on growing parts of a source.

The weights are part of the test unit: the folder or the name on the hub, and a digest of the files. Generated texts are cached.
With labels, a text is learned and generated after its label, and a classifier chooses among candidates, as in LAMBADA
(Anaby-Tavor et al. 2020).
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.base.errors import TouchstoneError
from harness.base.hashing import digest_of, seed_of
from harness.base.paths import cache_folder
from tasks.generators.label_filter import NaiveBayes
from tasks.generators.progressive import CANDIDATES, Labelled, Step, draw_labels

LEARNING_RATE, BATCH, LONGEST = 5e-5, 8, 40
ROUNDS = 50                                 # attempts to generate non-empty texts


def digest_of_weights(weights: str) -> str:
    """Return a digest of the files of a folder, or of the local commit of a model of the hub."""
    folder = Path(weights)
    if folder.is_dir():
        digest = hashlib.sha256()
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()
    from transformers import AutoConfig

    try:
        commit = getattr(AutoConfig.from_pretrained(weights), "_commit_hash", None)
    except (OSError, ValueError) as error:
        raise loading_error(weights, error) from None
    return digest_of([weights, commit])


def finetune_and_generate(weights: str, train: Labelled, held_out: Sequence[str], steps: int, n: int, seed: int) -> list[Step]:
    """Return g_1..g_N of n texts each; the model is fine-tuned further from step to step."""
    if not train.has_labels:
        train = Labelled(train.texts, [""] * len(train.texts))
    labels = [list(train.labels)] if train.has_labels else []
    name = digest_of([digest_of_weights(weights), list(train.texts), list(held_out), steps, n, seed, *labels])
    cached = cache_folder() / "generated" / f"{name}.json"
    if cached.exists():
        return [Step(**step) for step in json.loads(cached.read_text(encoding="utf-8"))]
    tuned = TunedGenerator(weights, seed)
    size = -(-len(train.texts) // steps)
    generated = []
    for start in range(0, size * steps, size):
        tuned.learn(Labelled(train.texts[start:start + size], train.labels[start:start + size]))
        trained_on = min(start + size, len(train.texts))
        if train.has_labels:
            read = Labelled(train.texts[:trained_on], train.labels[:trained_on])
            classifier = NaiveBayes(read.texts, read.labels)
            texts = write_by_label(tuned, classifier, n, np.random.default_rng([seed, start]))
            perplexity = tuned.perplexity(held_out, [classifier.predict(text) for text in held_out])
        else:
            texts, perplexity = tuned.write(n), tuned.perplexity(held_out)
        generated.append(Step(texts, None, trained_on, perplexity))
    cached.parent.mkdir(parents=True, exist_ok=True)
    partial = cached.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(json.dumps([dataclasses.asdict(step) for step in generated]), encoding="utf-8")
    partial.replace(cached)
    return generated


def write_by_label(tuned: TunedGenerator, classifier: NaiveBayes, n: int, rng: np.random.Generator) -> list[str]:
    """Return n texts, balanced over labels: of a few candidates each, the one with the highest confidence in its label."""
    labels = draw_labels(classifier.labels, n, rng)
    candidates = {label: iter(tuned.write(CANDIDATES * count, label)) for label, count in Counter(labels).items()}
    return [classifier.choose(list(itertools.islice(candidates[label], CANDIDATES)), label) for label in labels]


class TunedGenerator:
    """A causal model during fine-tuning."""

    def __init__(self, weights: str, seed: int) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        try:
            self.tokenizer: Any = AutoTokenizer.from_pretrained(weights)
            self.model: Any = AutoModelForCausalLM.from_pretrained(weights)
        except (OSError, ValueError) as error:
            raise loading_error(weights, error) from None
        if self.tokenizer.eos_token is None:
            raise TouchstoneError(f'The tokenizer of "{weights}" has no end-of-text token. Choose a causal model that has one.')
        self.tokenizer.pad_token = self.tokenizer.eos_token
        self._torch, self._seed = torch, seed
        self._optimiser = torch.optim.AdamW(self.model.parameters(), lr=LEARNING_RATE)

    def _tokens(self, text: str) -> list[int]:
        """Return the IDs of the first tokens of a text."""
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"][:LONGEST])

    def prompt(self, label: str) -> list[int]:
        """Return what precedes a text: an end-of-text token, as in GPT-2; and if it has a label, that and another such token."""
        end = self.tokenizer.eos_token_id
        return [end, *self._tokens(label), end] if label else [end]

    def _loss(self, rows: Sequence[list[int]], skipped: int = 1) -> Any:
        """Return the mean negative log-probability of all tokens but the first, or but as many as are skipped."""
        torch, width = self._torch, max(map(len, rows))
        end = self.tokenizer.eos_token_id
        ids = torch.tensor([row + [end] * (width - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
        labels = ids.masked_fill(mask == 0, -100)
        labels[:, :skipped] = -100
        return self.model(input_ids=ids, attention_mask=mask, labels=labels).loss

    def learn(self, train: Labelled) -> None:
        """Train for one epoch."""
        self._torch.manual_seed(self._seed)
        self.model.train()
        rows = [[*self.prompt(label), *self._tokens(text), self.tokenizer.eos_token_id]
                for text, label in zip(train.texts, train.labels, strict=True)]
        for start in range(0, len(rows), BATCH):
            self._optimiser.zero_grad()
            self._loss(rows[start:start + BATCH]).backward()
            self._optimiser.step()

    def surprise(self, text: str, label: str = "") -> tuple[float, int]:
        """Return the negative log-probability of a text including its end, given its label, and its number of tokens."""
        prompt, tokens = self.prompt(label), [*self._tokens(text), self.tokenizer.eos_token_id]
        self.model.eval()
        with self._torch.no_grad():
            return float(self._loss([prompt + tokens], len(prompt))) * len(tokens), len(tokens)

    def perplexity(self, texts: Sequence[str], labels: Sequence[str] = ()) -> float:
        """Return exp of the mean negative log-probability per token, given the labels if there are any."""
        surprise, tokens = np.sum([self.surprise(*both) for both in zip(texts, labels or [""] * len(texts), strict=True)], axis=0)
        return math.exp(surprise / tokens)

    def write(self, n: int, label: str = "") -> list[str]:
        """Return n non-empty texts sampled from the full distribution, given a label if there is one."""
        torch, prompt = self._torch, self._torch.tensor([self.prompt(label)])
        torch.manual_seed(seed_of(self._seed, label) if label else self._seed)
        self.model.eval()
        texts: list[str] = []
        for _ in range(ROUNDS):
            start = prompt.repeat(n - len(texts), 1)
            with torch.no_grad():
                rows = self.model.generate(input_ids=start, attention_mask=torch.ones_like(start), do_sample=True, top_k=0,
                                           max_new_tokens=LONGEST, pad_token_id=self.tokenizer.eos_token_id)
            decoded = (" ".join(text.split()) for text in self.tokenizer.batch_decode(rows[:, prompt.shape[1]:],
                                                                                            skip_special_tokens=True))
            texts += [text for text in decoded if text]
            if len(texts) == n:
                return texts
        of_label = f' with the label "{label}"' if label else ""
        raise TouchstoneError(f"The model generated empty texts for {n - len(texts)} of {n} texts{of_label} in {ROUNDS} "
                              "attempts. Choose another model.")


def loading_error(weights: str, error: Exception) -> TouchstoneError:
    """Return the error for weights that cannot be loaded."""
    return TouchstoneError(f'The weights "{weights}" cannot be loaded ({str(error).splitlines()[0][:160]}). Give a folder with a '
                           "model and its tokenizer, or the name of a model on the hub.")
