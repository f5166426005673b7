"""Who may ask, and what a browser may do with the answers."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from http import HTTPStatus

from gditd.serve.errors import Refusal

OPEN_PATHS = ("/", "/health")
OPEN_FOLDER = "/static/"

PAGE_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "worker-src 'self'",
        "object-src 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
    )
)

# On every answer. The API's answers are nobody's page, and rows should stay in no cache.
COMMON_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
API_HEADERS = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)
PAGE_HEADERS = (
    (b"content-security-policy", PAGE_POLICY.encode()),
    (b"cache-control", b"no-cache"),  # kept, but asked after each time: a new version shows at once
)


def is_open(path: str) -> bool:
    """Whether a path needs no key: the page, its files, and the health check."""
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDER)


def is_page(path: str) -> bool:
    """Whether a path is the page or one of its files."""
    return path == "/" or path.startswith(OPEN_FOLDER)


def check_key(api_key: bytes, headers: Mapping[bytes, bytes]) -> None:
    """Refuse a request without the key; the comparison takes the same time however much of a guess is right."""
    given = headers.get(b"x-api-key")
    if given is None:
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        given = token.strip() if scheme.lower() == b"bearer" else b""
    if not hmac.compare_digest(given, api_key):
        raise Refusal(
            HTTPStatus.UNAUTHORIZED,
            'a key is needed: send it as "Authorization: Bearer KEY" or "X-API-Key: KEY"',
            headers={"www-authenticate": "Bearer"},
        )
