"""What the head of a page says of it: title, description, canonical address, image, and the HTTP status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode

from harness.base.errors import printable
from leaderboard.board.axis_rankings import list_rankings, metric_rankings, ranking_query
from leaderboard.board.router import Library
from leaderboard.board.services.lookup import NotFound, find_axis, find_entries, find_snapshot, find_track, split_names
from leaderboard.board.services.sharing import site_address
from leaderboard.board.snapshot import Snapshot
from leaderboard.scoring.custom_order import check_weights

LONGEST = 300                               # characters of a description
MOST_METRICS = 4                            # that a page compares
NEED_ENTRIES = ("/", "/metric", "/compare", "/choose", "/map", "/difference")
KEPT = {"/metric": ("name",), "/compare": ("metrics",), "/choose": ("track",), "/difference": ("name", "difference", "size")}    # in canonical addresses
PAGES = {
    "/": ("ranking of text-similarity metrics", ""),
    "/metric": ("metric", ""),
    "/compare": ("compare metrics", "Paired differences of two to four text-similarity metrics on every task, with intervals and adjusted p-values."),
    "/choose": ("which metric?", "A short list of text-similarity metrics for your needs in texts, cost and models, with reasons."),
    "/map": ("map", "Accuracy against cost of text-similarity metrics, and which of them are redundant."),
    "/difference": ("what a difference means", "The probability that a difference of a text-similarity metric is real, and thresholds by dataset."),
    "/try": ("try it", "Compare two texts or two corpora with fast text-similarity metrics. Nothing is stored."),
    "/tasks": ("tasks", "What each task of the benchmark measures, on which data, and the score of chance."),
    "/submit": ("submit a metric", "How to submit a text-similarity metric: one Python file, checked and run in a sandbox."),
    "/submission": ("submission", "The state of a submitted metric: check, queue, run, results."),
    "/changes": ("changes between releases", "Which ranks and scores moved from a release to the next one, and why."),
    "/own": ("your data", "Which text-similarity metric for your texts? They are read by this machine only."),
    "/about": ("about and cite", "How the scores are made, how to cite them, the releases with their errata, and the API."),
}


class PageMeta(NamedTuple):
    """The head of a page.  All texts are plain text: whoever writes them into HTML escapes them."""

    title: str
    description: str
    canonical: str
    image: str
    status: int = 200


def page_meta(library: Library, path: str, query: Mapping[str, str], base: str) -> PageMeta:
    """Return the head of the page that an address names; `base` is the address of the server, unless TOUCHSTONE_SITE is set.

    The status is 404 for what does not exist or has no results yet, and 422 for weights that cannot be used.  The description of
    such a page is the error.
    """
    site, path = site_address(base), path.rstrip("/") or "/"
    try:
        snapshot, on_axis = select_snapshot(library, path, query)
        title, description = describe_page(snapshot, on_axis, path, query)
        status = 200
        if path == "/" and query.get("order") == "weights":
            tasks = on_axis.ranked_tasks(find_current_track(snapshot, query))
            if not check_weights(query.get(f"w.{task.name}", "1") for task in tasks):
                status, description = 422, "Weights must be non-negative numbers, and at least one must be positive."
    except NotFound as error:
        return PageMeta("Touchstone: not found", str(error)[:LONGEST], f"{site}/", f"{site}/card.png", 404)
    place = {key: query[key] for key in ("release", "suite") if query.get(key) and snapshot is not library.first}
    kept = ranking_query(snapshot, find_current_track(snapshot, query), query.get("axis")) if path == "/" else {
        key: query[key] for key in KEPT.get(path, ()) if query.get(key)}
    image = {"metric": query["name"], **place} if path == "/metric" else place
    return PageMeta(title, printable(description, LONGEST), join_address(site, path, {**kept, **place}), join_address(site, "/card.png", image), status)


def select_snapshot(library: Library, path: str, query: Mapping[str, str]) -> tuple[Snapshot, Snapshot]:
    """Return the snapshot of an address, and the same ranked by the axis that it names; raise if it names what does not exist."""
    if path not in PAGES:
        raise NotFound(f'There is no page "{printable(path, 80)}"; there are {", ".join(PAGES)}.')
    snapshot = find_snapshot(library, query.get("release", "")[:40] or None, query.get("suite", "")[:80] or None)
    if snapshot.empty_message:
        if path in NEED_ENTRIES:
            raise NotFound(snapshot.empty_message)
        return snapshot, snapshot
    track = find_current_track(snapshot, query)
    on_axis = find_axis(snapshot, track, query.get("axis") or None)
    if path == "/metric" and not query.get("name"):
        raise NotFound("The address names no metric; add ?name=NAME.")
    names = {"/metric": [query.get("name", "")], "/compare": split_names(query.get("metrics", ""))[:MOST_METRICS]}
    for name in names.get(path, ()):
        find_entries(snapshot, name)
    return snapshot, on_axis


def find_current_track(snapshot: Snapshot, query: Mapping[str, str]) -> str:
    """Return the track that a query names, by default the first."""
    return find_track(snapshot, query.get("track") or snapshot.tracks[0])


def describe_page(snapshot: Snapshot, on_axis: Snapshot, path: str, query: Mapping[str, str]) -> tuple[str, str]:
    """Return the title and the description of a page."""
    heading, description = PAGES[path]
    if path == "/metric":
        name = query["name"]
        rankings = metric_rankings(snapshot, name)
        ranks = "; ".join(ranking.describe_rank(entry) for ranking, entry in rankings)
        entry = rankings[0][1]
        return f"Touchstone: {printable(name, 80)}", f"{printable(entry.title, 120)}: {ranks}. {entry.summary}"
    if path == "/":
        leaders = [f"{ranking.ranked[0].name} leads {ranking.among}"
                   + (f" ({ranking.tied} may be the best)" if ranking.tied > 1 else "")
                   for ranking in list_rankings(snapshot) if ranking.ranked]
        axis = on_axis.report.suite.headline(find_current_track(snapshot, query))
        selected = f", {axis.title.lower()}" if query.get("axis") else ""
        return f"Touchstone: {heading}{selected}", f"Benchmark of text-similarity metrics, {snapshot.title}. {'; '.join(leaders)}."
    if path == "/compare" and (names := split_names(query.get("metrics", ""))[:MOST_METRICS]):
        return f"Touchstone: {printable(' and '.join(names), 120)} compared", description
    return f"Touchstone: {heading}", description


def join_address(site: str, path: str, query: Mapping[str, str]) -> str:
    """Return an absolute address."""
    return f"{site}{path}" + (f"?{urlencode(query)}" if query else "")
