"""What agtp_handlers.py promises: python3 -m unittest discover test/handlers/python"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import decimal
import io
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import typing
import unittest
import uuid

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
HANDLERS = os.path.join(ROOT, "handlers")
sys.path.insert(0, HANDLERS)

import agtp_handlers  # noqa: E402
from agtp_handlers import (  # noqa: E402
    AgtpError,
    Answer,
    Call,
    DispatchError,
    Response,
    call_handler,
    endpoint_handler,
    schema_of,
)


class Room(typing.TypedDict):
    number: str
    beds: int


class Booking(typing.TypedDict, total=False):
    guest: str


def signature_of(function: typing.Callable[..., typing.Any]) -> typing.Any:
    return agtp_handlers._Function("f", function).signature()


class Signatures(unittest.TestCase):
    def test_parameters_are_what_their_annotations_say(self) -> None:
        def book(call, *, room: str, nights: int = 1, rate: float, late: bool = False, more=None):
            return {}

        self.assertEqual(
            signature_of(book),
            {
                "input": {
                    "properties": {
                        "room": {"type": "string"},
                        "nights": {"type": "integer"},
                        "rate": {"type": "number"},
                        "late": {"type": "boolean"},
                        "more": {},
                    },
                    "required": ["room", "rate"],
                }
            },
        )

    def test_nothing_is_said_where_there_is_nothing_to_say(self) -> None:
        self.assertEqual(signature_of(lambda call: {}), {})

        def untyped(call: NoSuchThing) -> NorThis:  # type: ignore[name-defined]  # noqa: F821
            return {}

        self.assertEqual(signature_of(untyped), {})

    def test_a_typed_dict_is_an_input_or_a_result(self) -> None:
        def book(call: Call[Booking]) -> Room:
            return {"number": "12", "beds": 2}

        said = signature_of(book)
        self.assertEqual(said["input"], {"type": "object", "properties": {"guest": {"type": "string"}}, "required": []})
        self.assertEqual(said["output"]["required"], ["beds", "number"])

    def test_types_are_schemas(self) -> None:
        for hint, expected in [
            (typing.Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            (typing.List[str], {"type": "array", "items": {"type": "string"}}),
            (typing.Literal["a", "b"], {"enum": ["a", "b"]}),
            (typing.Dict[str, int], {"type": "object"}),
            (typing.Sequence[str], {"type": "array"}),
            (typing.Union[int, typing.Any], {}),
            (typing.Any, {}),
            (uuid.UUID, {}),
        ]:
            with self.subTest(hint=hint):
                self.assertEqual(schema_of(hint), expected)

    def test_a_handler_takes_a_call(self) -> None:
        with self.assertRaisesRegex(TypeError, "takes no call"):
            agtp_handlers._Function("f", lambda: {})
        with self.assertRaisesRegex(TypeError, "takes no call"):
            agtp_handlers._Function("f", lambda *, room: {})


class Decorator(unittest.TestCase):
    def setUp(self) -> None:
        self.addCleanup(agtp_handlers._functions.clear)

    def test_names_a_handler_after_its_function_or_as_it_is_told(self) -> None:
        @agtp_handlers.handler
        def one(call):
            return {}

        @agtp_handlers.handler("other")
        def two(call):
            return {}

        self.assertEqual(list(agtp_handlers._functions), ["one", "other"])
        self.assertIs(agtp_handlers._functions["one"].function, one)

    def test_has_no_name_twice(self) -> None:
        agtp_handlers.handler("one")(lambda call: {})
        with self.assertRaisesRegex(ValueError, "two handlers"):
            agtp_handlers.handler("one")(lambda call: {})

    def test_run_without_a_handler_says_so(self) -> None:
        with self.assertRaisesRegex(SystemExit, "no @handler"):
            agtp_handlers.run()


class CallingInTests(unittest.TestCase):
    def test_parameters_come_out_of_the_input(self) -> None:
        def book(call, *, room: str, nights: int = 2):
            return {"room": room, "nights": nights, "all": call.input}

        answer = call_handler(book, {"room": "12", "guest": "Ada"})
        self.assertEqual(answer.status, 200)
        self.assertTrue(answer.ok)
        self.assertEqual(answer.body, {"room": "12", "nights": 2, "all": {"room": "12", "guest": "Ada"}})

    def test_the_call_has_what_is_documented(self) -> None:
        def who(call):
            return {
                "agent": [call.agent.agent_id, call.agent["name"], call.agent.scopes, call.agent.trust_tier],
                "place": [call.principal, call.method, call.path],
                "left": call.remaining,
                "cancelled": bool(call.cancelled),
            }

        agent = {"agent_id": "a1", "name": "alma", "scopes": ["x:y"], "trust_tier": 2}
        body = call_handler(who, agent=agent, principal="ada", method="BOOK", path="/rooms", seconds=5).body
        self.assertEqual(body["agent"], ["a1", "alma", ["x:y"], 2])
        self.assertEqual(body["place"], ["ada", "BOOK", "/rooms"])
        self.assertTrue(4 < body["left"] <= 5)
        self.assertFalse(body["cancelled"])

    def test_errors_are_answers_and_faults_are_raised(self) -> None:
        def refuse(call):
            raise AgtpError("room_unavailable", "none left", {"nights": 2})

        answer = call_handler(refuse)
        self.assertEqual((answer.error, answer.message, answer.details), ("room_unavailable", "none left", {"nights": 2}))
        self.assertFalse(answer.ok)
        with self.assertRaises(ZeroDivisionError):
            call_handler(lambda call: 1 / 0)

    def test_async_handlers_are_run(self) -> None:
        async def book(call):
            await asyncio.sleep(0)
            inner = await call.dispatch("QUERY", "/rooms", {"a": 1})
            return {"status": inner.status, "body": inner.body}

        answer = call_handler(book, dispatch=lambda method, path, input: (455, [method, path, input]))
        self.assertEqual(answer.body, {"status": 455, "body": ["QUERY", "/rooms", {"a": 1}]})

    def test_a_refusal_has_its_error(self) -> None:
        def book(call):
            answer = call.dispatch("QUERY", "/rooms")
            return [answer.ok, answer.error, answer.message, answer.details, answer.body]

        refusal = {"error": {"code": "room_unavailable", "message": "none", "details": {"nights": 2}}}
        answer = call_handler(book, dispatch=lambda *_: (422, refusal))
        self.assertEqual(answer.body, [False, "room_unavailable", "none", {"nights": 2}, refusal])
        answer = call_handler(book, dispatch=lambda *_: (455, "no"))
        self.assertEqual(answer.body, [False, None, None, None, "no"])
        answer = call_handler(book, dispatch=lambda *_: (200, refusal))
        self.assertEqual(answer.body, [True, None, None, None, refusal])

    def test_what_goes_on_is_no_refusal(self) -> None:
        said = {status: Answer(status).ok for status in (200, 202, 204, 261, 262, 263, 404, 455)}
        self.assertEqual([status for status, ok in said.items() if not ok], [262, 404, 455])

    def test_what_is_dispatched_is_answered_by_the_test(self) -> None:
        def book(call):
            return {"free": call.dispatch("QUERY", "/rooms").body}

        self.assertEqual(call_handler(book, dispatch=lambda *_: [1]).body, {"free": [1]})
        self.assertEqual(call_handler(book, dispatch=lambda *_: Answer(200, 3)).body, {"free": 3})
        with self.assertRaises(DispatchError):
            call_handler(book)

    def test_what_is_logged_is_listed(self) -> None:
        logged: typing.List[typing.Any] = []

        def book(call):
            call.log.info("booked %s", "12", nights=2)
            call.log("plain", level="debug")
            return {}

        call_handler(book, logged=logged)
        self.assertEqual(logged, [("info", "booked 12", {"nights": 2}), ("debug", "plain", {})])

    def test_a_call_can_be_over(self) -> None:
        def work(call):
            return {"over": call.cancelled.wait(0)}

        self.assertEqual(call_handler(work, cancelled=True).body, {"over": True})


class Results(unittest.TestCase):
    def test_no_result_is_204(self) -> None:
        self.assertEqual(call_handler(lambda call: None).status, 204)

    def test_a_response_has_a_status_and_fields(self) -> None:
        answer = call_handler(lambda call: Response({"a": 1}, 202, {"X-Made": "yes"}))
        self.assertEqual((answer.status, answer.body, answer.headers), (202, {"a": 1}, {"X-Made": "yes"}))

    def test_common_types_become_json(self) -> None:
        @dataclasses.dataclass
        class Stay:
            nights: int

        body = call_handler(
            lambda call: {
                "day": datetime.date(2030, 5, 4),
                "price": decimal.Decimal("1.50"),
                "id": uuid.UUID(int=0),
                "tags": {"b", "a"},
                "stay": Stay(2),
                "text": "h\u00f4tel \ud800",
            }
        ).body
        self.assertEqual(body["day"], "2030-05-04")
        self.assertEqual(body["price"], "1.50")
        self.assertEqual(body["tags"], ["a", "b"])
        self.assertEqual(body["stay"], {"nights": 2})
        self.assertTrue(body["text"].startswith("h\u00f4tel "))

    def test_what_is_no_json_is_a_fault(self) -> None:
        with self.assertRaises(TypeError):
            call_handler(lambda call: {"a": object()})
        with self.assertRaises(ValueError):
            call_handler(lambda call: {"a": float("nan")})


class ReferenceHandlers(unittest.TestCase):
    @dataclasses.dataclass
    class EndpointResponse:
        body: typing.Dict[str, typing.Any]
        status: int = 200
        headers: typing.Any = None

    @dataclasses.dataclass
    class EndpointError:
        code: str
        message: str
        details: typing.Any = None

    def test_are_adapted_by_one_line(self) -> None:
        def book(ctx):
            if ctx.input["room"] == "suite":
                return self.EndpointError("room_unavailable", "none left", {"room": "suite"})
            return self.EndpointResponse({"for": ctx.agent_id, "scopes": ctx.agent_scopes, "path": ctx.path})

        adapted = endpoint_handler(book)
        self.assertEqual(adapted.__name__, "book")
        agent = {"agent_id": "a1", "scopes": ["x:y"]}
        answer = call_handler(adapted, {"room": "double"}, agent=agent, path="/rooms")
        self.assertEqual(answer.body, {"for": "a1", "scopes": ["x:y"], "path": "/rooms"})
        self.assertEqual(call_handler(adapted, {"room": "suite"}).error, "room_unavailable")

    def test_that_are_async_are_awaited(self) -> None:
        async def book(ctx):
            return self.EndpointResponse({"ok": True})

        self.assertEqual(call_handler(endpoint_handler(book)).body, {"ok": True})


PROGRAM = """
import asyncio, logging, os, subprocess, sys, threading, time
from agtp_handlers import AgtpError, Cancelled, handler, run


@handler
def echo(call):
    return {"input": call.input, "thread": threading.get_ident()}

@handler
def refuse(call):
    raise AgtpError("room_unavailable", "none left")

@handler
def fault(call):
    raise RuntimeError("secret detail")

@handler
def bad(call):
    return {"a": object()}

@handler
def bad_error(call):
    raise AgtpError("e", "m", object())

@handler
def noisy(call):
    print("printed")
    subprocess.run(["echo", "echoed"])
    sys.stdout.write("half a line")
    logging.getLogger("booking").warning("by %s", "logging")
    return {}

@handler
def wait(call):
    return {"over": call.cancelled.wait(20), "flag": bool(call.cancelled)}

@handler
async def wait_async(call):
    await asyncio.sleep(20)

@handler
def ask(call):
    answer = call.dispatch("QUERY", "/rooms", {"a": 1})
    return {"status": answer.status, "body": answer.body}

@handler
async def ask_async(call):
    one, two = await asyncio.gather(call.dispatch("QUERY", "/a"), call.dispatch("QUERY", "/b"))
    return {"bodies": [one.body, two.body]}

@handler
def read(call):
    return {"read": sys.stdin.read()}

run()
print("it returns")
"""


class Talk:
    """A daemon, as a program sees it."""

    def __init__(self, program: str = PROGRAM) -> None:
        self.directory = tempfile.TemporaryDirectory()
        path = os.path.join(self.directory.name, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(program))
        env = {**os.environ, "PYTHONPATH": HANDLERS, "PYTHONDONTWRITEBYTECODE": "1"}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([sys.executable, path], stdin=pipe, stdout=pipe, stderr=pipe, env=env)
        self.logged: typing.List[typing.Any] = []
        self.hello = self.receive()

    def receive(self) -> typing.Any:
        """The next message that is no log."""
        assert self.process.stdout is not None
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise EOFError
            message = json.loads(line)
            if message.get("method") != "log":
                return message
            self.logged.append(message["params"])

    def send(self, message: typing.Dict[str, typing.Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def call(self, call_id: int, function: str, **input: typing.Any) -> None:
        params = {"function": function, "input": input, "agent": {}, "deadline_ms": 30_000}
        self.send({"id": call_id, "method": "call", "params": params})

    def result(self, call_id: int, function: str, **input: typing.Any) -> typing.Any:
        self.call(call_id, function, **input)
        message = self.receive()
        assert message["id"] == call_id, message
        return message.get("result", message.get("error"))

    def end(self) -> typing.Tuple[int, str]:
        """Closes its input, and waits."""
        assert self.process.stdin is not None and self.process.stderr is not None
        self.process.stdin.close()
        code = self.process.wait(20)
        text = self.process.stderr.read().decode()
        self.close()
        return code, text

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        self.directory.cleanup()


class Serving(unittest.TestCase):
    def setUp(self) -> None:
        self.talk = Talk()
        self.addCleanup(self.talk.close)

    def test_says_hello_with_its_functions(self) -> None:
        self.assertEqual(self.talk.hello["method"], "hello")
        self.assertEqual(self.talk.hello["params"]["protocol"], 1)
        self.assertIn("ask_async", self.talk.hello["params"]["functions"])

    def test_answers_with_a_body_an_error_or_a_fault(self) -> None:
        self.assertEqual(self.talk.result(1, "echo", a=1)["body"]["input"], {"a": 1})
        self.assertEqual(self.talk.result(2, "refuse"), {"error": "room_unavailable", "message": "none left"})
        self.assertEqual(self.talk.result(3, "fault")["message"], "RuntimeError: secret detail")
        self.assertIn("cannot be written as JSON", self.talk.result(4, "bad")["message"])
        self.assertIn("cannot be written as JSON", self.talk.result(5, "bad_error")["message"])
        self.assertEqual(self.talk.result(6, "none")["code"], -32601)
        traces = [one["fields"]["traceback"] for one in self.talk.logged if one["call"] == 3]
        self.assertIn("secret detail", traces[0])

    def test_keeps_everything_else_off_the_protocol(self) -> None:
        self.assertEqual(self.talk.result(1, "noisy"), {"body": {}})
        self.assertEqual(self.talk.result(2, "read"), {"body": {"read": ""}})
        self.assertEqual(self.talk.logged[0]["message"], "by logging")
        self.assertEqual((self.talk.logged[0]["call"], self.talk.logged[0]["level"]), (1, "warning"))
        code, text = self.talk.end()
        self.assertEqual(code, 0)
        for expected in ("printed", "echoed", "half a line", "it returns"):
            self.assertIn(expected, text)

    def test_a_call_that_takes_long_keeps_nobody_waiting(self) -> None:
        for call_id in (1, 2, 3):
            self.talk.call(call_id, "wait")
        self.talk.call(4, "wait_async")
        self.assertEqual(self.talk.result(5, "echo")["body"]["input"], {})
        ended = []
        for call_id in (1, 2, 3, 4):
            self.talk.send({"method": "cancel", "params": {"call": call_id}})
            ended.append(self.talk.receive())
        self.assertEqual([one["id"] for one in ended], [1, 2, 3, 4])
        self.assertEqual(ended[0]["result"]["body"], {"over": True, "flag": True})
        self.assertEqual(ended[3]["error"]["message"], "cancelled")

    def test_a_call_that_is_over_before_it_begins_is_answered(self) -> None:
        async def never(call):
            raise AssertionError("it began")

        sink = io.BytesIO()
        function = agtp_handlers._Function("never", never)
        server = agtp_handlers._Server({"never": function}, io.BytesIO(), sink)
        link = agtp_handlers._Link(server, 1, True)
        link.call = Call({"function": "never", "method": "QUERY", "path": "/x", "input": {}}, link)
        server._running[1] = link
        server._cancel(1)
        loop = asyncio.new_event_loop()
        server._loop = loop
        loop.call_soon(server._begin_async, 1, function, link)
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        (said,) = [json.loads(line) for line in sink.getvalue().splitlines()]
        self.assertEqual((said["id"], said["error"]["message"]), (1, "cancelled"))

    def test_dispatches_under_its_call(self) -> None:
        self.talk.call(7, "ask")
        asked = self.talk.receive()
        self.assertEqual(asked["method"], "dispatch")
        self.assertEqual(asked["params"], {"call": 7, "method": "QUERY", "path": "/rooms", "input": {"a": 1}})
        self.talk.send({"id": asked["id"], "result": {"status": 455, "body": {"b": 2}}})
        self.assertEqual(self.talk.receive()["result"]["body"], {"status": 455, "body": {"b": 2}})

    def test_dispatches_at_once_where_it_is_async(self) -> None:
        self.talk.call(8, "ask_async")
        asked = [self.talk.receive(), self.talk.receive()]
        for one in reversed(asked):
            self.talk.send({"id": one["id"], "result": {"status": 200, "body": one["params"]["path"]}})
        self.assertEqual(self.talk.receive()["result"]["body"], {"bodies": ["/a", "/b"]})

    def test_a_dispatch_ends_with_its_call(self) -> None:
        self.talk.call(9, "ask")
        self.talk.receive()
        self.talk.send({"method": "cancel", "params": {"call": 9}})
        self.assertEqual(self.talk.receive()["error"]["message"], "cancelled")

    def test_a_dispatch_without_an_answer_is_a_fault(self) -> None:
        self.talk.call(10, "ask")
        asked = self.talk.receive()
        self.talk.send({"id": asked["id"], "error": {"code": -32000, "message": "the request failed"}})
        self.assertIn("the request failed", self.talk.receive()["error"]["message"])

    def test_sigterm_ends_it(self) -> None:
        self.talk.call(1, "wait")
        self.assertEqual(self.talk.result(2, "echo")["body"]["input"], {})
        self.talk.process.terminate()
        self.assertEqual(self.talk.process.wait(20), 0)


class Sample(unittest.TestCase):
    def setUp(self) -> None:
        self.addCleanup(agtp_handlers._functions.clear)

    def test_quotes(self) -> None:
        import transfers

        answer = call_handler(transfers.quote, {"quay": "old-lighthouse", "guests": 9})
        self.assertEqual(answer.body, {"minutes": 25, "boats": 2, "total_price": 100, "currency": "EUR"})
        self.assertEqual(call_handler(transfers.quote, {"quay": "x", "guests": 1}).error, "unknown_quay")


if __name__ == "__main__":
    unittest.main()
