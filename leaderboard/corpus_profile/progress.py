"""Report progress while iterating over texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.base.progress import NoProgress, Progress


def track_texts(texts: Sequence[str], title: str, progress: Progress | None, step: int = 1000) -> Iterator[str]:
    """Yield the texts, and report progress after every `step` of them."""
    stage = (progress or NoProgress()).stage(title, len(texts), "texts")
    try:
        for number, text in enumerate(texts, start=1):
            yield text
            if number % step == 0:
                stage.advance(step)
        stage.advance(len(texts) % step)
    finally:
        stage.close()
