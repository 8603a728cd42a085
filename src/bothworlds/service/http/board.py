"""The files of the board. They hold nothing of any project: what is shown is asked for with a session."""

from __future__ import annotations

from importlib.resources import files

from bothworlds.service.http.endpoints import Answer, Call, Endpoint, Query

POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
FILES = {
    "/board": ("index.html", "text/html"),
    "/board/board.js": ("board.js", "text/javascript"),
    "/board/charts.js": ("charts.js", "text/javascript"),
    "/board/board.css": ("board.css", "text/css"),
    "/board/icon.svg": ("icon.svg", "image/svg+xml"),
}


CHOSEN = (Query("experiment", str, None, "What to show first."), Query("segment", str, None, "Of that."))


def _served(path: str, name: str, media_type: str) -> Endpoint:
    content = files("bothworlds.service").joinpath("board", name).read_bytes()
    headers = [(b"content-security-policy", POLICY), (b"cross-origin-opener-policy", b"same-origin")]

    async def handler(call: Call) -> Answer:
        return Answer(content, headers=headers, media_type=f"{media_type}; charset=utf-8".encode())

    handler.__doc__ = f"The board: {name}."
    return Endpoint(
        method="GET",
        path=path,
        right=None,
        handler=handler,
        answers={200: str},
        query=CHOSEN if name == "index.html" else (),  # read by board.js, from the address
        media_type=media_type,
    )


async def home(call: Call) -> Answer:
    """Lead to the board."""
    return Answer(b"", 307, [(b"location", b"/board")], b"text/plain")


ENDPOINTS = (
    Endpoint(method="GET", path="/", right=None, handler=home, answers={307: None}),
    *(_served(path, *file) for path, file in FILES.items()),
)
