"""Routes that FastAPI describes and Starlette calls."""

from __future__ import annotations

from typing import Any

from fastapi.routing import APIRoute
from starlette.routing import request_response


class PlainRoute(APIRoute):
    """A route whose endpoint takes the request as it is.

    Ours read bodies of five formats themselves and depend on nothing, so that FastAPI's way of calling them, which
    takes longer than a verdict, would find nothing to do.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.app = request_response(self.endpoint)
