"""The API of epochs, and badges that say how well a result is supported: verified, reproduced or claimed."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from harness.base.errors import printable
from leaderboard.board.router import Library
from leaderboard.board.services.api import Problem, make_tag, respond, respond_json
from leaderboard.board.services.sharing import BEST, LABEL, RANKED, SVG, UNKNOWN, Badge, draw_badge
from leaderboard.scoring.scores import CLAIMED
from leaderboard.service.access import Service
from leaderboard.service.epochs.ledger import Epoch, UnknownEpoch
from leaderboard.service.epochs.views import Level, Verification, find_verification

COLORS = {Level.VERIFIED: BEST, Level.REPRODUCED: RANKED, Level.CLAIMED: UNKNOWN}


def add_epochs(site: FastAPI, service: Service) -> None:
    """Add the routes of epochs; before those of `/api`, whose last route matches everything."""

    @site.get("/api/epochs", tags=["Epochs"], summary="The epochs", response_model=list[Epoch])
    def epochs() -> list[Epoch]:
        """Return the epochs, the oldest first; for an open epoch only the commitment and the times."""
        return [epoch.visible for epoch in service.epochs.list()]

    @site.get("/api/epochs/{name}", tags=["Epochs"], summary="An epoch", response_model=Epoch,
              responses={404: {"model": Problem, "description": "There is no such epoch."}})
    def epoch(name: str) -> Epoch | JSONResponse:
        """Return an epoch; if it is closed, with everything needed to derive its draw (`touchstone epoch verify FILE`)."""
        try:
            return service.epochs.get(name[:40]).visible
        except UnknownEpoch as error:
            return JSONResponse({"error": str(error)}, 404)


def add_verification(site: FastAPI, library: Library) -> None:
    """Add the routes of verification badges and, if the server accepts submissions, of epochs."""
    if library.service is not None:
        add_epochs(site, library.service)

    @site.get("/badge/{metric}/verification.svg", include_in_schema=False)
    def image(request: Request, metric: str) -> Response:
        badge = make_verification_badge(verify_metric(library, metric))
        content = draw_badge(badge).encode()
        response = respond(request, content, make_tag(content), SVG)
        response.status_code = response.status_code if badge.known else 404
        return response

    @site.get("/badge/{metric}/verification.json", include_in_schema=False)
    def values(request: Request, metric: str) -> Response:
        verification = verify_metric(library, metric)
        badge = make_verification_badge(verification)
        response = respond_json(request, {
            "schemaVersion": 1, "label": LABEL, "message": badge.message, "color": badge.color, "isError": not badge.known,
            "level": None if verification is None else verification.level, "epoch": verification.epoch if verification is not None else None,
            "expires": verification.expires.isoformat() if verification is not None and verification.expires is not None else None})
        response.status_code = response.status_code if badge.known else 404
        return response


def verify_metric(library: Library, metric: str) -> Verification | None:
    """Return how well the result of a metric of the board, or of a published submission, is supported."""
    report, service = library.first.report, library.service
    entry = next((entry for entry in report.entries if entry.name == metric), None)
    submissions = [] if service is None else [record.id for record in service.submissions.published()
                                              if record.name == metric.partition("[")[0]]
    return find_verification(None if service is None else service.epochs, report.suite.fingerprint, metric, submissions,
                             None if entry is None else entry.digest, entry is not None and CLAIMED in entry.marks)


def make_verification_badge(verification: Verification | None) -> Badge:
    """Return the badge of a level."""
    if verification is None:
        return Badge("unknown", UNKNOWN, known=False)
    epoch = "" if verification.epoch is None else f" {printable(verification.epoch, 20)}"
    return Badge(f"{verification.level}{epoch}", COLORS[verification.level])
