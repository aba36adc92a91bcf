"""Decoders of texts in many languages, on small archives that are made here, and the table of pins."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest

from tasks.data.loading import DATASETS
from tasks.data.schema import FORMS
from tasks.data.sources.decoders import OpenArchive
from tasks.data.sources.multilingual import (
    LANGUAGES,
    MULTILINGUAL_DATASETS,
    declaration,
    manual,
    manual_pairs,
    plain_text,
    read_pins,
    verse_pairs,
    verses,
)
from tasks.suite_files import load_suite

pytestmark = pytest.mark.unit
FRENCH, ARABIC, GERMAN = LANGUAGES["fr"], LANGUAGES["ar"], LANGUAGES["de"]


def tarball(path: Path, files: dict[str, str]) -> OpenArchive:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content.encode())
            archive.addfile(entry, io.BytesIO(content.encode()))
    path.write_bytes(gzip.compress(buffer.getvalue()))
    return OpenArchive(path)


def chapter(**texts: list[str]) -> str:
    rows = [{"id": number, **{name: values[number - 1] for name, values in texts.items()}} for number in (1, 2, 3)]
    return json.dumps([{"id": 1, "verses": rows}])


def test_paragraphs_of_the_declaration(tmp_path):
    page = "<h1>Déclaration</h1><article><p>Tous les êtres &amp; humains</p><ol><li><p>\n Chacun a\n le <b>droit</b></p></li></ol><p>court</p></article>"
    archive = tarball(tmp_path / "a.tgz", {"package/declaration/fra.html": page})
    assert declaration(archive, FRENCH)["data"].text.tolist() == ["Tous les êtres & humains", "Chacun a le droit"]


def test_verses_and_their_translations(tmp_path):
    english = ["the first verse", "repeated verse", "repeated verse"]
    archive = tarball(tmp_path / "a.tgz", {
        "package/dist/quran.json": chapter(text=["نص أول طويل", "نص ثان طويل", "نص ثالث طويل"]),
        "package/dist/quran_en.json": chapter(text=["x"] * 3, translation=english),
        "package/dist/quran_fr.json": chapter(text=["x"] * 3, translation=["le premier verset", "le deuxième verset", "autre verset"])})
    assert verses(archive, FRENCH)["data"].text.tolist() == ["le premier verset", "le deuxième verset", "autre verset"]
    assert verse_pairs(archive, FRENCH)["data"].values.tolist() == [["the first verse", "le premier verset"]]
    assert verses(archive, ARABIC)["data"].text.tolist() == ["نص أول طويل", "نص ثان طويل", "نص ثالث طويل"]


def test_paragraphs_of_the_manual_that_were_left_in_english_are_omitted(tmp_path):
    def page(*paragraphs: str) -> str:
        return "".join(f'<div class="para">\n\t{paragraph}\n</div>' for paragraph in paragraphs)
    folder = "./usr/share/doc/debian-handbook/html"
    archive = tarball(tmp_path / "a.tgz", {
        f"{folder}/en-US/apt.html": page("Packages are <em>installed</em>.", "They are removed."),
        f"{folder}/de-DE/apt.html": page("Pakete werden installiert.", "They are removed."),
        f"{folder}/xx-XX/apt.html": page("something else altogether")})
    assert manual(archive, GERMAN)["data"].text.tolist() == ["Pakete werden installiert."]
    assert manual_pairs(archive, GERMAN)["data"].values.tolist() == [["Packages are installed.", "Pakete werden installiert."]]
    assert manual(archive, LANGUAGES["en"])["data"].text.tolist() == ["Packages are installed.", "They are removed."]


def test_plain_text():
    assert plain_text(' a&nbsp;<code class="x">b</code>\n&lt;c&gt; ') == "a b <c>"


def test_every_dataset_has_a_pin_and_every_pin_a_dataset():
    assert read_pins().keys() == {dataset.name for dataset in MULTILINGUAL_DATASETS}
    for dataset in MULTILINGUAL_DATASETS:
        assert DATASETS[dataset.name] is dataset
        assert dataset.kind in FORMS
        assert len(dataset.fingerprint or "") == 64
        assert (dataset.rows or 0) >= 50
        assert not dataset.source.fetched_by_default


def test_the_suite_covers_languages_and_scripts():
    suite = load_suite("multilingual")              # needs no texts
    languages = {unit.parameters["language"] for unit in (question.unit for question in suite.task_units)
                 if "language" in unit.parameters} - {"vowelled"}
    assert languages == set(LANGUAGES)
    mixed = {source.rpartition("_")[2] for question in suite.task_units if question.task.name == "known_similarity"
             for source in (question.unit.parameters["source_a"],)}
    assert len(mixed) >= 12
    assert len({LANGUAGES[language].script for language in mixed}) >= 5
