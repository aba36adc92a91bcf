"""Filters on quads written for these tests, and the selection of balanced ones."""

from __future__ import annotations

import pytest

from tasks.phenomena.matching import select_quads
from tasks.phenomena.quads import Candidate, Plan, SourcePair, Texts, find_candidates
from tasks.phenomena.surface import Anchor, are_alike, is_balanced, is_suitable

A = "The old king gave four horses unto the captain of the tower."
P = "Four horses were given unto the captain of the tower by the old king himself."


def surfaces(p: str, n: str, e: str, f: str):
    anchor = Anchor(A)
    return [anchor.compare(text) for text in (p, n, e, f)]


def test_which_pairs_are_suitable():
    assert is_suitable(A, P)
    assert not is_suitable(A, A)                    # too close
    assert not is_suitable("Too short.", P)
    assert not is_suitable(A, " ".join([P] * 4))    # too long


def test_a_quad_with_matched_edits_passes():
    p, n, e, f = surfaces(P.replace("unto", "to"), A.replace("unto", "to"), A.replace("four", "nine"), P.replace("Four", "Nine"))
    assert are_alike(n, e)
    assert are_alike(p, f)
    assert is_balanced(p, n, e, f)


@pytest.mark.parametrize(("n", "reason"), [
    (A.replace("four", "four swift"), "a token more"), (A.replace("horses", "excellent animals"), "two tokens more"),
    (A.replace("unto", "notwithstanding"), "much longer")])
def test_edits_that_leave_another_surface_are_not_alike(n, reason):
    anchor = Anchor(A)
    assert not are_alike(anchor.compare(n), anchor.compare(A.replace("four", "nine"))), reason


def test_a_paraphrase_that_is_nearer_than_the_edit_is_rejected():
    near = A.replace("unto", "to")
    p, n, e, f = surfaces(near, near, A.replace("four", "nine"), A.replace("four", "nine"))
    assert not is_balanced(p, n, e, f)


PAIRS = [(A, P), ("A tall man has two dogs in the yard near the river.", "In the yard near the river there are two dogs of a tall man."),
         ("He hath seven sons and dwelt in the land of the east.", "Seven sons he hath, and in that land of the east he dwelt long.")]


def test_candidates_depend_on_the_texts_alone():
    first = find_candidates(PAIRS, "public", ["number", "kind"])
    second = find_candidates(PAIRS[::-1], "public", ["number", "kind"])
    for phenomenon, found in first.items():
        assert {candidate.texts for _, candidate in found} == {candidate.texts for _, candidate in second[phenomenon]}


def test_a_plan_makes_the_same_texts_again():
    for half in ("public", "private"):
        for number, candidate in find_candidates(PAIRS, half, ["number", "kind"])["number"]:
            assert SourcePair(*PAIRS[number], half).texts("number", candidate.plan) == candidate.texts


def made(number: int, length: int, entry: str = "x > y") -> tuple[int, Candidate]:
    return number, Candidate("antonym", Plan(0, 0, 0, 0, 0), Texts(str(number), str(length), "", "", ""), f"{entry}{number % 5}",
                             [(f"length {length}", 1), ("length 0", -1)])


def test_selection_balances_the_bins_and_keeps_one_quad_of_a_pair():
    found = [made(number, length) for number in range(40) for length in (0, number % 2)]
    chosen = select_quads(found, 5, 20)
    assert len({found[index][0] for index in chosen}) == len(chosen) <= 20
    assert sum(found[index][1].bins[0][0] == "length 0" for index in chosen) == len(chosen)        # the others are unbalanced
    assert select_quads([], 5, 20) == []


def test_no_entry_is_more_frequent_than_a_third():
    found = [made(number, 0) for number in range(5)] + [(number, made(5, 0)[1]) for number in range(5, 40)]
    entries = [found[index][1].entry for index in select_quads(found, 5, 40)]
    assert max(map(entries.count, entries)) <= 0.33 * 40
