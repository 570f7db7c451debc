"""Handlers for agtpd in Python: functions that answer the calls of endpoints.

    from agtp_handlers import AgtpError, handler, run

    @handler
    def book_room(call, *, room_type: str, nights: int = 1):
        if room_type == "suite":
            raise AgtpError("room_unavailable", "no suite is free", {"nights": nights})
        return {"reservation_id": "H-1"}

    run()

One file, the standard library alone, Python 3.9 or newer. Copy it beside your own.
"""

from __future__ import annotations

import asyncio
import collections.abc
import contextvars
import dataclasses
import datetime
import decimal
import enum
import inspect
import io
import json
import logging
import os
import queue
import signal
import sys
import threading
import time
import traceback
import types
import typing
import uuid

__all__ = [
    "AgtpError",
    "Agent",
    "Answer",
    "Call",
    "Cancelled",
    "DispatchError",
    "Response",
    "call_handler",
    "endpoint_handler",
    "handler",
    "run",
]

PROTOCOL = 1
FAULT = -32000
NO_METHOD = -32601

Input = typing.TypeVar("Input")
_call: contextvars.ContextVar = contextvars.ContextVar("agtp_call", default=None)


class AgtpError(Exception):
    """An error that the endpoint declares; any other exception is a fault, an opaque 500."""

    def __init__(self, error: str, message: typing.Optional[str] = None, details: typing.Any = None):
        super().__init__(error if message is None else f"{error}: {message}")
        self.error = error
        self.message = message
        self.details = details


class DispatchError(Exception):
    """A dispatched request that has no answer: a refusal is an answer, and no exception."""


class Cancelled(Exception):
    """The call is over: its time is up, or nobody waits for it any more."""


@dataclasses.dataclass(frozen=True)
class Response:
    """A body with another status than 200, or with header fields."""

    body: typing.Any = None
    status: int = 200
    headers: typing.Optional[typing.Mapping[str, str]] = None


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a dispatched request, or a handler in a test, answered with.

    A refusal has the code of its error as error, its message and its details; body is as it was sent.
    """

    status: int
    body: typing.Any = None
    error: typing.Optional[str] = None
    message: typing.Optional[str] = None
    details: typing.Any = None
    headers: typing.Optional[typing.Mapping[str, str]] = None

    @property
    def ok(self) -> bool:
        """True if it is no refusal."""
        return 200 <= self.status < 300 and self.status != 262


class Agent(dict):
    """Who calls: agent_id, name, scopes, trust_tier; None where there is none."""

    def __getattr__(self, name: str) -> typing.Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class _Flag:
    """Tells whether a call is over: true or false, and something to wait for."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def __bool__(self) -> bool:
        return self._event.is_set()

    def is_set(self) -> bool:
        return self._event.is_set()

    def wait(self, seconds: typing.Optional[float] = None) -> bool:
        """Waits until the call is over, or for so long; answers whether it is."""
        return self._event.wait(seconds)

    def _set(self) -> None:
        self._event.set()


class _Log:
    """Writes to the daemon's log, under the call: call.log.info("booked", room="12")."""

    def __init__(self, write: typing.Callable[..., None]) -> None:
        self._write = write

    def __call__(self, message: str, *args: typing.Any, level: str = "info", **fields: typing.Any) -> None:
        self._write(level, str(message) % args if args else str(message), fields)

    def debug(self, message: str, *args: typing.Any, **fields: typing.Any) -> None:
        self(message, *args, level="debug", **fields)

    def info(self, message: str, *args: typing.Any, **fields: typing.Any) -> None:
        self(message, *args, level="info", **fields)

    def warning(self, message: str, *args: typing.Any, **fields: typing.Any) -> None:
        self(message, *args, level="warn", **fields)

    warn = warning

    def error(self, message: str, *args: typing.Any, **fields: typing.Any) -> None:
        self(message, *args, level="error", **fields)


class Call(typing.Generic[Input]):
    """One call of a handler.

    input       a dict, valid under the endpoint's input schema
    agent       who calls: agent.agent_id, .name, .scopes, .trust_tier
    principal   for whom, where a token says so; else None
    method, path, request_id, traceparent       of the request
    deadline    when its time is up, by time.monotonic(); None: it has no end of its own
    remaining   seconds that are left
    cancelled   true once nobody waits any more; cancelled.wait(seconds) waits for that
    log         log.debug, .info, .warning, .error: a message and fields
    dispatch    another endpoint, as the agent that calls
    """

    def __init__(self, params: typing.Mapping[str, typing.Any], link: typing.Any) -> None:
        left = params.get("deadline_ms")
        self.input: Input = params.get("input") or {}
        self.agent = Agent(params.get("agent") or {})
        self.principal = params.get("principal")
        self.method = params.get("method")
        self.path = params.get("path")
        self.request_id = params.get("request_id")
        self.traceparent = params.get("traceparent")
        self.deadline = None if left is None else time.monotonic() + left / 1000
        self.cancelled = _Flag()
        self.log = _Log(link.log)
        self._link = link

    @property
    def remaining(self) -> typing.Optional[float]:
        """Seconds that are left, 0 when its time is up; None: it has no end of its own."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def dispatch(self, method: str, path: str, input: typing.Optional[typing.Mapping[str, typing.Any]] = None) -> typing.Any:
        """Another endpoint, as the agent that calls: an Answer, awaited where the handler is async."""
        return self._link.dispatch(method, path, dict(input or {}))


# ---- Functions and what is said of them -----------------------------------------------------------


class _Function:
    """A handler, and the parameters that it takes out of the input."""

    def __init__(self, name: str, function: typing.Callable[..., typing.Any]) -> None:
        self.name = name
        self.function = function
        self.is_async = inspect.iscoroutinefunction(function)
        parameters = list(inspect.signature(function).parameters.values())
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        if not parameters or parameters[0].kind not in positional:
            raise TypeError(f"handler {name!r} takes no call: def {name}(call)")
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        self.parameters = [one for one in parameters[1:] if one.kind in named]
        self.takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)

    def arguments(self, call: Call) -> typing.Dict[str, typing.Any]:
        if self.takes_all:
            return dict(call.input)
        return {one.name: call.input[one.name] for one in self.parameters if one.name in call.input}

    def signature(self) -> typing.Dict[str, typing.Any]:
        """What its annotations say, as parts of JSON Schemas; empty where they say nothing."""
        try:
            hints = typing.get_type_hints(self.function)
        except Exception:  # An annotation that cannot be read says nothing.
            hints = {}
        said: typing.Dict[str, typing.Any] = {}
        whole = self._input_type(hints)
        if self.parameters:
            required = [one.name for one in self.parameters if one.default is inspect.Parameter.empty]
            properties = {one.name: schema_of(hints.get(one.name, typing.Any)) for one in self.parameters}
            said["input"] = {"properties": properties, "required": required}
        elif whole is not None:
            said["input"] = schema_of(whole)
        if _is_typed_dict(hints.get("return")):
            said["output"] = schema_of(hints["return"])
        return said

    def _input_type(self, hints: typing.Mapping[str, typing.Any]) -> typing.Any:
        first = next(iter(inspect.signature(self.function).parameters))
        hint = hints.get(first)
        arguments = typing.get_args(hint) if typing.get_origin(hint) is Call else ()
        return arguments[0] if arguments and _is_typed_dict(arguments[0]) else None


_TYPES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
    list: "array",
    tuple: "array",
    dict: "object",
}
_UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))
_MAX_DEPTH = 16


def _is_typed_dict(hint: typing.Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, dict) and hasattr(hint, "__required_keys__")


def schema_of(hint: typing.Any, depth: int = 0) -> typing.Dict[str, typing.Any]:
    """The JSON Schema of an annotation; {} for what may be anything."""
    if depth > _MAX_DEPTH:
        return {}
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if _is_typed_dict(hint):
        hints = typing.get_type_hints(hint)
        return {
            "type": "object",
            "properties": {name: schema_of(one, depth + 1) for name, one in hints.items()},
            "required": sorted(hint.__required_keys__),
        }
    if origin in _UNIONS:
        branches = [schema_of(one, depth + 1) for one in arguments]
        return {} if {} in branches else {"anyOf": branches}
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if str(origin) in ("typing.Required", "typing.NotRequired", "typing.Annotated"):
        return schema_of(arguments[0], depth + 1)
    plain = origin or hint
    if hint is None:
        return {"type": "null"}
    if plain in _TYPES:
        schema: typing.Dict[str, typing.Any] = {"type": _TYPES[plain]}
        if plain is list and arguments:
            schema["items"] = schema_of(arguments[0], depth + 1)
        return schema
    if plain in (collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection):
        return {"type": "array"}
    if plain in (collections.abc.Mapping, collections.abc.MutableMapping):
        return {"type": "object"}
    return {}


_functions: typing.Dict[str, _Function] = {}


def handler(target: typing.Any = None) -> typing.Any:
    """Makes a function a handler: @handler under its own name, @handler("name") under another."""
    if callable(target):
        return _register(target.__name__, target)
    if target is None or isinstance(target, str):
        return lambda function: _register(target or function.__name__, function)
    raise TypeError("@handler is written over a function, or as @handler(\"name\")")


def _register(name: str, function: typing.Callable[..., typing.Any]) -> typing.Callable[..., typing.Any]:
    if name in _functions:
        raise ValueError(f"there are two handlers with the name {name!r}")
    _functions[name] = _Function(name, function)
    return function


def endpoint_handler(function: typing.Callable[..., typing.Any]) -> typing.Callable[[Call], typing.Any]:
    """A handler of the AGTP reference implementation: def f(ctx), which returns an object with a
    body (EndpointResponse) or with a code (EndpointError).

        handler("book_room")(endpoint_handler(book_room))
    """

    def answer(call: Call) -> typing.Any:
        return _of_endpoint(function(_context_of(call)))

    async def answer_async(call: Call) -> typing.Any:
        return _of_endpoint(await function(_context_of(call)))

    chosen = answer_async if inspect.iscoroutinefunction(function) else answer
    chosen.__name__ = getattr(function, "__name__", "endpoint")
    return chosen


def _context_of(call: Call) -> types.SimpleNamespace:
    scopes = list(call.agent.get("scopes") or [])
    return types.SimpleNamespace(
        input=call.input,
        agent_id=call.agent.get("agent_id") or "",
        principal_id=call.principal or "",
        agent_scopes=scopes,
        authority_scope=scopes,
        session_id=None,
        task_id=None,
        server_state=None,
        request_id=call.request_id or "",
        method=call.method or "",
        path=call.path or "/",
        headers={},
        agent_verified=False,
        agent_cert_fingerprint=None,
        call=call,
    )


def _of_endpoint(result: typing.Any) -> typing.Any:
    if hasattr(result, "code"):
        raise AgtpError(result.code, getattr(result, "message", None), getattr(result, "details", None))
    if hasattr(result, "body"):
        return Response(result.body, getattr(result, "status", 200), getattr(result, "headers", None))
    return result


# ---- Results --------------------------------------------------------------------------------------


def _result_of(value: typing.Any) -> typing.Dict[str, typing.Any]:
    """What a handler returned, as the protocol has it."""
    if value is None:
        return {"status": 204}
    if not isinstance(value, Response):
        return {"body": value}
    result: typing.Dict[str, typing.Any] = {"status": value.status}
    if value.body is not None or value.status != 204:
        result["body"] = value.body
    if value.headers:
        result["headers"] = dict(value.headers)
    return result


def _error_of(error: AgtpError) -> typing.Dict[str, typing.Any]:
    result: typing.Dict[str, typing.Any] = {"error": error.error}
    if error.message is not None:
        result["message"] = str(error.message)
    if error.details is not None:
        result["details"] = error.details
    return result


def _plain(value: typing.Any) -> typing.Any:
    """What JSON does not have, as what it has."""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (uuid.UUID, decimal.Decimal, os.PathLike)):
        return str(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if isinstance(value, collections.abc.Mapping):
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


_encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_plain, ensure_ascii=False)


def _encode(message: typing.Dict[str, typing.Any]) -> bytes:
    text = _encoder.encode(message)
    # A half of a surrogate pair is no UTF-8.
    return text.encode("utf-8", "backslashreplace") + b"\n"


# ---- Serving --------------------------------------------------------------------------------------


class _Link:
    """The way of one call back to the daemon."""

    def __init__(self, server: _Server, call_id: typing.Any, is_async: bool) -> None:
        self._server = server
        self._id = call_id
        self._is_async = is_async
        self.task: typing.Any = None
        self.call: typing.Any = None

    def log(self, level: str, message: str, fields: typing.Mapping[str, typing.Any]) -> None:
        self._server.log(level, message, fields, self._id)

    def dispatch(self, method: str, path: str, input: typing.Dict[str, typing.Any]) -> typing.Any:
        params = {"call": self._id, "method": method, "path": path, "input": input}
        if not self._is_async:
            waiting: queue.SimpleQueue = queue.SimpleQueue()
            self._server.ask(params, self._id, waiting.put)
            return _dispatched(waiting.get())
        return self._dispatch_async(params)

    async def _dispatch_async(self, params: typing.Dict[str, typing.Any]) -> Answer:
        loop = asyncio.get_running_loop()
        future: asyncio.Future = loop.create_future()

        def settle(message: typing.Any) -> None:
            if not future.done():
                future.set_result(message)

        self._server.ask(params, self._id, lambda message: loop.call_soon_threadsafe(settle, message))
        return _dispatched(await future)


def _dispatched(message: typing.Optional[typing.Mapping[str, typing.Any]]) -> Answer:
    if message is None:
        raise Cancelled("the call is over")
    if "error" in message:
        raise DispatchError(str((message["error"] or {}).get("message", "the request failed")))
    result = message.get("result") or {}
    return _answered(result.get("status", 500), result.get("body"))


def _answered(status: int, body: typing.Any) -> Answer:
    refusal = body.get("error") if isinstance(body, dict) else None
    if 200 <= status < 261 or not isinstance(refusal, dict):
        return Answer(status, body)
    return Answer(status, body, error=refusal.get("code"), message=refusal.get("message"), details=refusal.get("details"))


class _Server:
    """Answers calls until its input ends.

    One thread reads, and answers what it has read itself; another one reads on meanwhile. So nothing
    is handed from thread to thread, and a call that takes long keeps nobody waiting.
    """

    def __init__(self, functions: typing.Mapping[str, _Function], source: typing.BinaryIO, sink: typing.BinaryIO) -> None:
        self._functions = functions
        self._source = source
        self._sink = sink
        self._reading = threading.Lock()
        self._writing = threading.Lock()
        self._state = threading.Lock()
        self._waiting = 0
        self._running: typing.Dict[typing.Any, _Link] = {}
        self._asked: typing.Dict[str, typing.Tuple[typing.Any, typing.Callable[[typing.Any], None]]] = {}
        self._last = 0
        self._loop: typing.Optional[asyncio.AbstractEventLoop] = None
        self.over = threading.Event()

    def serve(self) -> None:
        """Returns once the daemon needs the program no more."""
        if any(one.is_async for one in self._functions.values()):
            self._start_loop()
        signatures = {name: one.signature() for name, one in self._functions.items()}
        hello = {
            "protocol": PROTOCOL,
            "functions": list(self._functions),
            "signatures": {name: said for name, said in signatures.items() if said},
        }
        self._write({"jsonrpc": "2.0", "method": "hello", "params": hello})
        self._start_reader()
        self.over.wait()
        self._cancel_all()

    def log(self, level: str, message: str, fields: typing.Mapping[str, typing.Any], call_id: typing.Any = None) -> None:
        params: typing.Dict[str, typing.Any] = {"level": level, "message": message}
        if call_id is not None:
            params["call"] = call_id
        if fields:
            params["fields"] = {name: _loggable(value) for name, value in fields.items()}
        self._write({"jsonrpc": "2.0", "method": "log", "params": params})

    def ask(self, params: typing.Dict[str, typing.Any], call_id: typing.Any, hear: typing.Callable[[typing.Any], None]) -> None:
        with self._state:
            if call_id not in self._running:
                raise Cancelled("the call is over")
            self._last += 1
            request = f"d{self._last}"
            self._asked[request] = (call_id, hear)
        try:
            self._write({"jsonrpc": "2.0", "id": request, "method": "dispatch", "params": params})
        except BaseException:
            with self._state:
                self._asked.pop(request, None)
            raise

    def _start_loop(self) -> None:
        loop = asyncio.new_event_loop()
        self._loop = loop
        threading.Thread(target=loop.run_forever, name="agtp-async", daemon=True).start()

    def _start_reader(self) -> None:
        with self._state:
            self._waiting += 1
        threading.Thread(target=self._read, name="agtp-call", daemon=True).start()

    def _read(self) -> None:
        while not self.over.is_set():
            with self._reading:
                try:
                    line = self._source.readline()
                except (OSError, ValueError):
                    line = b""
            if not line:
                self.over.set()
                return
            self._take(line)

    def _take(self, line: bytes) -> None:
        message = json.loads(line)
        method = message.get("method")
        if method == "call":
            self._begin(message["id"], message["params"])
        elif method == "cancel":
            self._cancel(message["params"].get("call"))
        elif method is None:
            with self._state:
                _, hear = self._asked.pop(message.get("id"), (None, None))
            if hear is not None:
                hear(message)
        elif "id" in message:
            self._fail(message["id"], f"there is no method {method!r}", NO_METHOD)

    def _begin(self, call_id: typing.Any, params: typing.Mapping[str, typing.Any]) -> None:
        function = self._functions.get(params.get("function", ""))
        if function is None:
            self._fail(call_id, f"there is no function {params.get('function')!r}", NO_METHOD)
            return
        link = _Link(self, call_id, function.is_async)
        link.call = Call(params, link)
        with self._state:
            self._running[call_id] = link
        if function.is_async:
            assert self._loop is not None
            self._loop.call_soon_threadsafe(self._begin_async, call_id, function, link)
            return
        with self._state:
            self._waiting -= 1
            is_last = self._waiting == 0
        if is_last:
            self._start_reader()
        _call.set(link.call)
        try:
            try:
                result = _result_of(function.function(link.call, **function.arguments(link.call)))
            except AgtpError as error:
                result = _error_of(error)
            self._answer(call_id, result)
        except BaseException as error:
            self._fault(call_id, error)
        finally:
            _call.set(None)
            with self._state:
                self._waiting += 1

    def _begin_async(self, call_id: typing.Any, function: _Function, link: _Link) -> None:
        assert self._loop is not None
        if link.call.cancelled:
            self._fault(call_id, Cancelled("the call is over"))
            return
        context = contextvars.copy_context()
        context.run(_call.set, link.call)
        link.task = context.run(self._loop.create_task, self._run_async(call_id, function, link.call))
        # Behind its first step: a task that is cancelled before it would answer nothing.
        if link.call.cancelled:
            self._loop.call_soon(link.task.cancel)

    async def _run_async(self, call_id: typing.Any, function: _Function, call: Call) -> None:
        try:
            try:
                result = _result_of(await function.function(call, **function.arguments(call)))
            except AgtpError as error:
                result = _error_of(error)
            self._answer(call_id, result)
        except BaseException as error:
            self._fault(call_id, error)

    def _answer(self, call_id: typing.Any, result: typing.Dict[str, typing.Any]) -> None:
        line = _encode({"jsonrpc": "2.0", "id": call_id, "result": result})
        self._end(call_id)
        self._send(line)

    def _fault(self, call_id: typing.Any, error: BaseException) -> None:
        link = self._running.get(call_id)
        is_over = link is not None and bool(link.call.cancelled)
        if not is_over:
            text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            self.log("error", f"the handler raised {_describe(error)}", {"traceback": text[-8000:]}, call_id)
        self._end(call_id)
        self._fail(call_id, "cancelled" if is_over else _describe(error), FAULT)

    def _fail(self, request: typing.Any, message: str, code: int) -> None:
        self._write({"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": message}})

    def _end(self, call_id: typing.Any) -> None:
        with self._state:
            self._running.pop(call_id, None)

    def _cancel(self, call_id: typing.Any) -> None:
        with self._state:
            link = self._running.get(call_id)
            mine = [key for key, (owner, _) in self._asked.items() if owner == call_id]
            hearers = [self._asked.pop(key)[1] for key in mine]
        if link is None:
            return
        link.call.cancelled._set()
        if link.task is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(link.task.cancel)
        for hear in hearers:
            hear(None)

    def _cancel_all(self) -> None:
        with self._state:
            running = list(self._running)
        for call_id in running:
            self._cancel(call_id)

    def _write(self, message: typing.Dict[str, typing.Any]) -> None:
        self._send(_encode(message))

    def _send(self, line: bytes) -> None:
        try:
            with self._writing:
                self._sink.write(line)
                self._sink.flush()
        except (OSError, ValueError):  # The daemon is gone.
            self.over.set()


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:1000]


def _loggable(value: typing.Any) -> typing.Any:
    try:
        _encoder.encode(value)
        return value
    except (TypeError, ValueError):
        return repr(value)[:1000]


class _LogHandler(logging.Handler):
    """Sends what the logging module is given, under the call in whose course it was."""

    def __init__(self, server: _Server) -> None:
        super().__init__()
        self._server = server

    def emit(self, record: logging.LogRecord) -> None:
        try:
            fields: typing.Dict[str, typing.Any] = {"logger": record.name}
            if record.exc_info and record.exc_info[0] is not None:
                fields["traceback"] = "".join(traceback.format_exception(*record.exc_info))[-8000:]
            call = _call.get()
            call_id = None if call is None else getattr(call._link, "_id", None)
            self._server.log(record.levelname.lower(), record.getMessage(), fields, call_id)
        except Exception:
            self.handleError(record)


def run() -> None:
    """Serves all handlers until the daemon ends the program; then it returns."""
    if not _functions:
        raise SystemExit("agtp_handlers: there is no @handler to serve")
    if sys.stdin is not None and sys.stdin.isatty():
        names = ", ".join(_functions)
        raise SystemExit(
            f"agtp_handlers: agtpd starts this program, by [[processes]] in agtp-server.toml; it has: {names}"
        )
    source = os.fdopen(os.dup(0), "rb", buffering=65536)
    sink = os.fdopen(os.dup(1), "wb", buffering=65536)
    # What prints, or is started from here, must not be taken for a message.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    server = _Server(_functions, source, sink)
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(_LogHandler(server))
        root.setLevel(logging.INFO)
    if threading.current_thread() is threading.main_thread():
        if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, lambda *_: server.over.set())
        if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
            signal.signal(signal.SIGINT, lambda *_: server.over.set())
    server.serve()


# ---- Tests of handlers ----------------------------------------------------------------------------


class _TestLink:
    def __init__(self, dispatch: typing.Any, logged: typing.Optional[typing.List[typing.Any]], is_async: bool) -> None:
        self._dispatch = dispatch
        self._logged = logged
        self._is_async = is_async

    def log(self, level: str, message: str, fields: typing.Mapping[str, typing.Any]) -> None:
        if self._logged is not None:
            self._logged.append((level, message, dict(fields)))

    def dispatch(self, method: str, path: str, input: typing.Dict[str, typing.Any]) -> typing.Any:
        if self._dispatch is None:
            raise DispatchError("call_handler was given no dispatch")
        answer = self._dispatch(method, path, input)
        if not isinstance(answer, Answer):
            answer = _answered(*answer) if isinstance(answer, tuple) else Answer(200, answer)
        return _later(answer) if self._is_async else answer


async def _later(value: typing.Any) -> typing.Any:
    return value


def call_handler(
    function: typing.Callable[..., typing.Any],
    input: typing.Optional[typing.Mapping[str, typing.Any]] = None,
    *,
    agent: typing.Optional[typing.Mapping[str, typing.Any]] = None,
    principal: typing.Optional[str] = None,
    method: str = "EXECUTE",
    path: str = "/",
    seconds: typing.Optional[float] = 30,
    cancelled: bool = False,
    dispatch: typing.Any = None,
    logged: typing.Optional[typing.List[typing.Any]] = None,
) -> Answer:
    """Calls a handler in a test, without a daemon: its Answer. What it raises beside AgtpError is raised.

    dispatch(method, path, input) answers what the handler dispatches: a body, (status, body) or an
    Answer; logged is a list that is filled with (level, message, fields).
    """
    described = _Function(getattr(function, "__name__", "handler"), function)
    params = {
        "input": json.loads(_encode(dict(input or {}))),
        "agent": {"agent_id": None, "name": None, "scopes": [], "trust_tier": None, **(agent or {})},
        "principal": principal,
        "method": method,
        "path": path,
        "request_id": "test",
        "deadline_ms": None if seconds is None else seconds * 1000,
    }
    call: Call = Call(params, _TestLink(dispatch, logged, described.is_async))
    if cancelled:
        call.cancelled._set()
    try:
        value = function(call, **described.arguments(call))
        result = _result_of(asyncio.run(value) if described.is_async else value)
    except AgtpError as error:
        result = json.loads(_encode(_error_of(error)))
        return Answer(422, error=result["error"], message=result.get("message"), details=result.get("details"))
    plain = json.loads(_encode(result))
    return Answer(plain.get("status", 200), plain.get("body"), headers=plain.get("headers"))
