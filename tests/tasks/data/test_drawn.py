"""What is drawn is kept on disk if the user's command says so, and only then."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tasks.corpus import fine_tuning, utility
from tasks.data import drawn
from tasks.data.drawn import draw_once, keep_drawn
from tasks.registry import get_task


@dataclass(frozen=True)
class Values:
    """Something that a unit draws."""

    texts: tuple[list[str], ...]
    share: float


VALUES = Values((["a", "\N{SNOWMAN}\x00\n"], []), 0.1 + 0.2)


def refuse():
    raise AssertionError("it is drawn again")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path))
    monkeypatch.setattr(drawn, "_kept", [])
    return tmp_path / "drawn"


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_nothing_is_kept_by_default(folder, unit):
    assert draw_once(unit, Values, lambda: VALUES) == VALUES
    assert not folder.exists()


def test_what_is_kept_is_not_drawn_again(folder, unit):
    keep_drawn()
    assert draw_once(unit, Values, lambda: VALUES) == VALUES
    assert draw_once(unit, Values, refuse) == VALUES
    (file,) = files(folder)
    assert unit.id in file.name


@pytest.mark.parametrize("content", [b"", b"no", "{}"])
def test_a_damaged_file_is_replaced(content, folder, unit):
    keep_drawn()
    draw_once(unit, Values, lambda: VALUES)
    (file,) = files(folder)
    file.write_bytes(drawn.zlib.compress(content.encode()) if isinstance(content, str) else content)
    assert draw_once(unit, Values, lambda: VALUES) == VALUES
    assert draw_once(unit, Values, refuse) == VALUES


def test_other_code_draws_anew_and_what_is_older_is_deleted(folder, unit, monkeypatch):
    keep_drawn()
    draw_once(unit, Values, lambda: VALUES)
    monkeypatch.setattr(drawn, "code_digest", lambda *_: "f" * 64)
    keep_drawn()
    assert not files(folder)
    with pytest.raises(AssertionError, match="drawn again"):
        draw_once(unit, Values, refuse)


def test_a_disk_that_cannot_be_written_loses_nothing(folder, unit):
    folder.write_text("a file and not a folder")
    keep_drawn()
    assert draw_once(unit, Values, lambda: VALUES) == VALUES


def test_generated_corpora_are_the_same_after_reading(folder, smoke, monkeypatch):
    task = get_task("fine_tuning")
    unit = smoke.units(task)[0]
    expected = task.corpora(unit)
    keep_drawn()
    for _ in range(2):                      # drawn, then read
        monkeypatch.setattr(fine_tuning, "GENERATED", fine_tuning.GeneratedTexts())
        assert task.corpora(unit) == expected
        monkeypatch.setattr(fine_tuning, "generate_series", refuse)


def test_candidates_and_accuracies_are_the_same_after_reading(folder, unit):
    keep_drawn()
    candidates = utility.Drawn((["t"], ["u"]), [(["a b", "c"], ["x", "y"]), ([], [])], ((1 / 3, 0.7), (0.1, 0.2)))
    assert draw_once(unit, utility.Drawn, lambda: candidates) == candidates
    assert draw_once(unit, utility.Drawn, refuse) == candidates
