"""The HTTP side: routes, and nothing that knows how verdicts come about."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from fastapi import FastAPI
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

from gditd import __version__
from gditd.serve import openapi
from gditd.serve.batching import SMALL_ROWS
from gditd.serve.bodies import read_body
from gditd.serve.budget import Share
from gditd.serve.errors import Refusal
from gditd.serve.formats import Format, answer_format, body_format
from gditd.serve.logs import RECORD
from gditd.serve.middleware import FrontDoor
from gditd.serve.models import Served
from gditd.serve.options import ModelOption, PredictOptions, explain_options, model_option, predict_options
from gditd.serve.parsing import body_tables, json_rows, refuse_many
from gditd.serve.rendering import Judged, as_json, as_table
from gditd.serve.routes import PlainRoute
from gditd.serve.scoring import as_documents
from gditd.serve.service import Service, notes_on
from gditd.serve.settings import Settings

PAGE = Path(__file__).parent / "page"
EXPLAINED_ROWS = 100  # the most that /v1/explain takes
INLINE_BYTES = 65_536  # a body so small is parsed before a thread would have started
ROUTES = frozenset(
    {"/", "/health", "/metrics", "/openapi.json", "/v1/predict", "/v1/explain", "/v1/models", "/v1/schema", "/v1/map"}
)

Handler = Callable[[Request, Share], Awaitable[Response]]


class Received(NamedTuple):
    """A request's body and its format, the model it is for, and what the request holds."""

    served: Served
    form: Format
    body: bytes
    share: Share


def create_app(settings: Settings, *, load: bool = True) -> FastAPI:
    """The application for a set of models; `load=False` leaves loading them to the caller, who has signals to mind."""
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if load:
            await asyncio.to_thread(service.registry.load)
        yield
        service.close()

    app = FastAPI(
        title="gditd",
        version=__version__,
        docs_url=None,  # these pages would load their scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.router.route_class = PlainRoute
    app.state.service = service
    app.add_middleware(FrontDoor, routes=ROUTES, api_key=settings.api_key, log=service.log, metrics=service.metrics)
    app.add_exception_handler(HTTPException, plain_refusal)
    endpoints = Endpoints(service)
    app.add_api_route("/v1/predict", endpoints.predict, methods=["POST"], **openapi.PREDICT)
    app.add_api_route("/v1/explain", endpoints.explain, methods=["POST"], **openapi.EXPLAIN)
    app.add_api_route("/v1/models", endpoints.models, methods=["GET"], **openapi.MODELS)
    app.add_api_route("/v1/schema", endpoints.schema, methods=["GET"], **openapi.SCHEMA)
    app.add_api_route("/v1/map", endpoints.map, methods=["GET"], **openapi.MAP)
    app.add_api_route("/health", endpoints.health, methods=["GET"], **openapi.HEALTH)
    app.add_api_route("/metrics", endpoints.metrics, methods=["GET"], **openapi.METRICS)
    app.add_api_route("/", page, methods=["GET", "HEAD"], include_in_schema=False)
    app.mount("/static", StaticFiles(directory=PAGE), name="static")
    app.openapi = openapi.described_by(app, service.registry)  # type: ignore[method-assign]
    return app


class Endpoints:
    """What each route answers."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._settings = service.settings
        self._registry = service.registry

    async def predict(self, request: Request) -> Response:
        """Verdicts on rows."""
        return await self._within_limits(self._predict, request)

    async def explain(self, request: Request) -> Response:
        """Why rows are strange."""
        return await self._within_limits(self._explain, request)

    async def _within_limits(self, handler: Handler, request: Request) -> Response:
        """Let a handler answer, unless too many are at it, and no longer than is allowed."""
        # A request is under way until its answer is sent, which a client that does not read may put off.
        share = request.scope[RECORD].ending.enter_context(self._service.admitted())
        async with asyncio.timeout(self._settings.timeout):
            response = await handler(request, share)
        share.take(len(response.body))
        return response

    async def _predict(self, request: Request, share: Share) -> Response:
        options = predict_options(request.scope["query_string"])
        answer = answer_format(request.scope[RECORD].header(b"accept"))
        received = await self._received(request, options, share)
        if len(received.body) <= INLINE_BYTES and received.form == answer == Format.json and options.verdicts_only:
            rows = json_rows(received.body, self._settings.max_rows)
            if 0 < len(rows) <= SMALL_ROWS:
                return await self._predict_small(request, received.served, rows, options)
        return await while_wanted(request, self._predict_table(request, received, options, answer))

    async def _predict_small(
        self, request: Request, served: Served, rows: list[dict[str, object]], options: PredictOptions
    ) -> Response:
        """A few rows, scored together with those of other requests."""
        verdicts = await self._service.batcher.verdicts(served, rows, alpha=options.alpha, on_error=options.on_error)
        self._count(request, served, len(verdicts), verdicts.n_ood)
        document: dict[str, object] = {"verdicts": as_documents(verdicts, with_errors=options.on_error == "ood")}
        notes = notes_on(served, list(dict.fromkeys(chain.from_iterable(rows))))
        if notes:
            document["notes"] = notes
        return json_response(document)

    async def _predict_table(
        self, request: Request, received: Received, options: PredictOptions, answer: Format
    ) -> Response:
        """A whole table, piece by piece."""
        served = received.served
        tables = await self._tables(received)
        pieces: list[Judged] = []
        rows = 0
        for table in tables:
            pieces.append(await self._service.judge(served, table, options, rows))
            rows += table.num_rows
        if answer == Format.json:
            content = await self._service.off_loop(partial(as_json, pieces))
        else:
            content = await self._service.off_loop(partial(as_table, pieces, answer, served.kinds))
        self._count(request, served, rows, sum(piece.verdicts.n_ood for piece in pieces))
        return Response(content, media_type=answer.value)

    async def _explain(self, request: Request, share: Share) -> Response:
        options = explain_options(request.scope["query_string"])
        received = await self._received(request, options, share)
        return await while_wanted(request, self._explain_table(request, received, options.columns))

    async def _explain_table(self, request: Request, received: Received, n_columns: int) -> Response:
        tables = await self._tables(received)
        rows = sum(table.num_rows for table in tables)
        refuse_many(rows, EXPLAINED_ROWS)
        request.scope[RECORD].rows = rows
        explanations = [
            explanation
            for table in tables
            for explanation in await self._service.explain(received.served, table, n_columns)
        ]
        return json_response({"explanations": explanations})

    async def _received(self, request: Request, options: ModelOption, share: Share) -> Received:
        """What is asked, and of which model; what can be refused before the body is read, is."""
        served = self._asked_for(request, options)
        form = body_format(request.scope[RECORD].header(b"content-type"))
        return Received(served, form, await read_body(request, self._settings.max_body, share), share)

    async def _tables(self, received: Received) -> list[pa.Table]:
        """A body's rows."""
        limits = {"most_rows": self._settings.max_rows, "most_bytes": self._settings.max_body}
        tables = await self._service.off_loop(partial(body_tables, received.body, received.form, **limits))
        received.share.take(sum(table.nbytes for table in tables))
        return tables

    async def models(self, _: Request) -> Response:
        """The models by name."""
        models = [
            {"name": served.name, "alpha": served.schema["alpha"], "classes": served.schema["classes"]}
            for served in self._registry.all()
        ]
        return json_response({"models": models})

    async def schema(self, request: Request) -> Response:
        """What a model knows."""
        return json_response(self._asked_for(request, model_option(request.scope["query_string"])).schema)

    async def map(self, request: Request) -> Response:
        """The known classes as circles."""
        served = self._asked_for(request, model_option(request.scope["query_string"]))
        circles = [
            {"label": circle.label, "x": circle.x, "y": circle.y, "radius": circle.radius}
            for circle in served.map.circles
        ]
        return json_response({"model": served.name, "circles": circles})

    async def health(self, _: Request) -> Response:
        """Whether there is anything to ask."""
        if not self._registry.ready:
            return json_response({"status": "starting", "models": []}, HTTPStatus.SERVICE_UNAVAILABLE)
        return json_response({"status": "ok", "models": self._registry.names})

    async def metrics(self, _: Request) -> Response:
        """The figures for Prometheus."""
        metrics = self._service.metrics
        return Response(metrics.exposition(), headers={"content-type": metrics.content_type})

    def _asked_for(self, request: Request, options: ModelOption) -> Served:
        """The model that a request names, noted for the log."""
        served = self._registry.get(options.model)
        request.scope[RECORD].model = served.name
        return served

    def _count(self, request: Request, served: Served, rows: int, ood_rows: int) -> None:
        request.scope[RECORD].rows = rows
        self._service.metrics.verdicts(served.name, rows, ood_rows)


async def while_wanted(request: Request, work: Coroutine[Any, Any, Response]) -> Response:
    """Do what a request asks for, and stop where the client is gone: others wait for their turn."""
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(left(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        leaving.cancel()
        if working.cancel():
            await asyncio.wait((working,))
            if not working.cancelled():
                working.exception()  # looked at, or asyncio would log it


async def left(request: Request) -> None:
    """Wait until the client is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def page(_: Request) -> Response:
    """The page for people."""
    index = PAGE / "index.html"
    if not index.is_file():
        raise Refusal(HTTPStatus.NOT_FOUND, "this installation has no page: ask /v1/predict")
    return FileResponse(index)


async def plain_refusal(_: Request, error: Exception) -> Response:
    """What the router refuses, in the form of all our errors."""
    assert isinstance(error, HTTPException)
    return Refusal(error.status_code, str(error.detail).lower(), headers=error.headers).response()


def json_response(document: object, status: int = HTTPStatus.OK) -> Response:
    """A JSON answer; NaN, which JSON does not have, is null."""
    return Response(to_json(document, inf_nan_mode="null"), status, media_type="application/json")
