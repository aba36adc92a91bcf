"""A small thesaurus for noise: groups of everyday words that may replace each other.

It is part of the definition of the fault `eda_noise` of `diagnostics`, which therefore needs no download and keeps its stored
results. Easy data augmentation with WordNet, as its authors do it, is in `tasks.generators.easy_augmentation`.
"""

from __future__ import annotations

GROUPS = """
good fine great nice; bad poor awful terrible; big large huge; small little tiny; fast quick rapid; easy simple
effortless; hard difficult tough; new fresh recent; old aged ancient; happy glad pleased; sad unhappy gloomy; angry mad
furious; help assist aid; buy purchase get; pay spend settle; want wish desire; need require; like enjoy love; hate
dislike detest; make create build; start begin launch; stop halt end finish; find locate discover; show display present;
tell inform notify; ask inquire question; answer reply respond; say state remark; see notice spot; look glance stare;
think believe reckon; know understand realise; use employ utilise; give hand offer; take grab seize; send mail dispatch;
receive obtain collect; keep hold retain; lose misplace forfeit; change alter modify; fix repair mend; break smash
damage; open unlock unseal; close shut seal; work function operate; job task duty; money cash funds; price cost fee
charge; card pass; account profile; bank lender; house home residence; city town; country nation state; road street way;
car vehicle automobile; flight trip journey; man guy fellow; woman lady; child kid; people folks persons; friend pal
mate; president leader chief; government administration; law rule statute; war conflict battle; movie film picture; book
volume title; song tune track; phone mobile handset; battery cell accumulator; screen display monitor; problem issue
trouble; reason cause motive; way manner method; place spot location; time moment period; day date; many numerous
several; much plenty; very really extremely; also too likewise; often frequently regularly; always constantly forever;
now currently presently; quickly promptly swiftly; maybe perhaps possibly; about around regarding; because since as
"""


def parse_groups(groups: str) -> dict[str, tuple[str, ...]]:
    """Return the other words of its groups for each word."""
    synonyms: dict[str, tuple[str, ...]] = {}
    for line in groups.split(";"):
        words = line.split()
        for word in words:
            synonyms[word] = synonyms.get(word, ()) + tuple(other for other in words if other != word)
    return synonyms


SYNONYMS = parse_groups(GROUPS)
