"""Embedding models behind web APIs (Cohere, OpenAI), called with the user's own key.

The weights cannot be inspected and may change, so the fingerprint covers the name and the number of dimensions only and such
models are never verified. The tests call a local server that answers as the documentation of the services says.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.base.errors import TouchstoneError, printable
from harness.models.base import Model
from harness.models.encoders import Batch, Encoder

if TYPE_CHECKING:
    import numpy as np

TEXTS_AT_ONCE = 96                      # the smaller of the two services' limits
TRIES = 6
SECONDS = 60.0
LONGEST_WAIT = 30.0


@dataclass(frozen=True)
class Service:
    """How to request vectors from a service."""

    company: str
    key: str                            # environment variable of the key
    address: str
    moved_by: str                       # environment variable of another address
    question: Callable[[str, list[str]], dict[str, Any]]
    answer: Callable[[Any], list[list[float]]]

    def own_key(self, model: str) -> str:
        """Return the user's API key, or raise if it is not set."""
        key = os.environ.get(self.key, "").strip()
        if not key:
            raise TouchstoneError(f'The vectors of "{model}" are computed by {self.company}: set {self.key} to your API key. '
                                  "The company receives all texts and may charge for them.")
        return key

    def ask(self, model: str, texts: list[str]) -> np.ndarray:
        """Return the vectors of some texts; retry while the service is busy."""
        import numpy as np

        key = self.own_key(model)
        body = json.dumps(self.question(model, [text or " " for text in texts])).encode()
        request = urllib.request.Request(os.environ.get(self.moved_by, self.address), body,
                                         {"Authorization": f"Bearer {key}", "Content-Type": "application/json"})
        for tried in range(1, TRIES + 1):
            try:
                with urllib.request.urlopen(request, timeout=SECONDS) as response:
                    vectors = np.array(self.answer(json.load(response)), np.float32)
                if vectors.ndim == 2 and len(vectors) == len(texts):
                    return vectors
                raise ValueError(f"{len(texts)} texts were sent, and {vectors.shape} came back")
            except urllib.error.HTTPError as error:
                if error.code in (401, 403):
                    raise TouchstoneError(f"{self.company} does not accept the API key in {self.key}; set it to a valid "
                                          "key.") from None
                if error.code not in (408, 409, 429) and error.code < 500:
                    raise TouchstoneError(f"{self.company} refused the embedding request ({error.code}: "
                                          f"{printable(error.read(2000).decode(errors='replace'), 200)}).") from None
                reply, wait = f"{error.code} {error.reason}", error.headers.get("Retry-After", "")
            except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
                reply, wait = str(error), ""
            except (ValueError, KeyError, TypeError, IndexError) as error:
                raise TouchstoneError(f"{self.company} returned a response that does not follow its documented API "
                                      f"({printable(str(error), 99)}).") from None
            if tried < TRIES:
                time.sleep(min(LONGEST_WAIT, float(wait) if wait.replace(".", "", 1).isdigit() else 2.0 ** (tried - 1)))
        raise TouchstoneError(f"{self.company} did not return vectors in {TRIES} attempts ({printable(reply, 120)}); "
                              "vectors computed so far are kept. Repeat the command to resume.")


OPENAI = Service(
    "OpenAI", "OPENAI_API_KEY", "https://api.openai.com/v1/embeddings", "TOUCHSTONE_OPENAI_URL",
    lambda model, texts: {"model": model, "input": texts, "encoding_format": "float"},
    lambda reply: [item["embedding"] for item in sorted(reply["data"], key=lambda item: item["index"])])
COHERE = Service(
    "Cohere", "COHERE_API_KEY", "https://api.cohere.com/v2/embed", "TOUCHSTONE_COHERE_URL",
    lambda model, texts: {"model": model, "texts": texts, "input_type": "clustering", "embedding_types": ["float"],
                          "truncate": "END"},
    lambda reply: reply["embeddings"]["float"])


class ServiceEncoder:
    """Vectors from a service; texts of one request do not influence each other."""

    def __init__(self, service: Service, model: str) -> None:
        self._service, self._model = service, model

    def batches(self, texts: Sequence[str]) -> list[Batch]:
        every = list(range(len(texts)))
        portions = [every[start:start + TEXTS_AT_ONCE] for start in range(0, len(every), TEXTS_AT_ONCE)]
        return [Batch(rows, [texts[row] for row in rows]) for rows in portions]

    def encode(self, batch: Batch) -> np.ndarray:
        return self._service.ask(self._model, batch.content)


@dataclass(frozen=True)
class ServiceModel(Model):
    """A model behind a web API."""

    service: Service

    @property
    def origin(self) -> str:
        return f"service of {self.service.company}"

    def ready(self) -> None:
        self.service.own_key(self.name)

    def encoder(self) -> Encoder:
        return ServiceEncoder(self.service, self.name)


def service_model(name: str, dimensions: int, service: Service) -> ServiceModel:
    """Return the description of a service's model."""
    named = hashlib.sha256(f"{service.company}\0{name}\0{dimensions}".encode()).hexdigest()
    return ServiceModel(name, f"{service.company} {name}", dimensions, named, "the company's terms", service)


SERVICES = {model.name: model for model in (
    service_model("text-embedding-3-small", 1536, OPENAI),
    service_model("text-embedding-3-large", 3072, OPENAI),
    service_model("embed-english-v3.0", 1024, COHERE),
)}
