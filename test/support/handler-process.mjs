/**
 * A process with functions, written against the protocol alone. Its argument says how it misbehaves;
 * without one it does not.
 */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [mode = "sane", ...rest] = process.argv.slice(2);
const send = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const calls = new Set();
let mostAtOnce = 0;
const answer = (id, body) => {
  calls.delete(id);
  send({ id, result: { body } });
};
const waiting = new Map();
const cancelled = new Map();
let last = 0;

/** Starts something that outlives its parent, and notes its pid. */
function fork() {
  const script =
    'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.error("up")';
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "ignore", "pipe"] });
  return new Promise((resolve) => child.stderr.once("data", () => resolve(child.pid)));
}

function dispatch(call, method, path, input) {
  last += 1;
  const id = `d${last}`;
  send({ id, method: "dispatch", params: { call, method, path, input } });
  return new Promise((resolve) => waiting.set(id, resolve));
}

const functions = {
  echo: ({ id, params }) => answer(id, params),
  pid: ({ id }) =>
    answer(id, { pid: process.pid, env: Object.keys(process.env).sort(), cwd: process.cwd() }),
  fail: ({ id }) => send({ id, error: { code: -32000, message: "secret detail" } }),
  refuse: ({ id }) =>
    send({
      id,
      result: { error: "room_unavailable", message: "none left", details: { nights: 2 } },
    }),
  undeclared: ({ id }) => send({ id, result: { error: "never_declared" } }),
  // As a program writes whose language has longer numbers.
  long: ({ id }) =>
    process.stdout.write(
      `{"jsonrpc":"2.0","id":${id},"result":{"body":{"id":9007199254740993,"far":1e400}}}\n`,
    ),
  nonsense: ({ id }) => send({ id, result: 7 }),
  created: ({ id }) =>
    send({ id, result: { status: 202, body: {}, headers: { "X-Made": "yes" } } }),
  // As a program writes whose language writes every member.
  absent: async ({ id, params }) => {
    const said = await dispatch(id, "QUERY", "/echos", null);
    const body = { input: params.input, status: said.status };
    const result = { body, status: null, headers: null, error: null, message: null, details: null };
    calls.delete(id);
    send({ id, result, error: null });
  },
  die: () => process.exit(3),
  twice: ({ id }) => {
    answer(id, { first: true });
    answer(id, { first: false });
  },
  nobody: ({ id }) => {
    answer(987_654, {});
    answer(id, { ok: true });
  },
  garbage: ({ id }) => {
    process.stdout.write("Traceback: this is no message\n");
    process.stdout.write(`${"x".repeat(5_000)}\n`);
    answer(id, { ok: true });
  },
  half: () => process.stdout.write('{"jsonrpc":"2.0","id":', () => process.exit(0)),
  huge: () => {
    const chunk = Buffer.alloc(1_000_000, "y");
    for (let i = 0; i < 100; i += 1) process.stdout.write(chunk);
  },
  closed: () => process.stdout.end(),
  memory: () => {
    const kept = [];
    for (;;) kept.push(new Array(1_000_000).fill(kept.length));
  },
  fork: async ({ id }) => answer(id, { pid: await fork() }),
  hang: ({ id }) =>
    void cancelled.set(id, () => {
      send({ method: "log", params: { call: id, level: "info", message: "let go" } });
      answer(id, {});
    }),
  stuck: () => undefined,
  // Answers once somebody sends it a signal.
  held: ({ id }) => void process.once("SIGUSR2", () => answer(id, {})),
  slow: ({ id, params }) =>
    void setTimeout(() => answer(id, { pid: process.pid }), params.input.ms),
  dispatch: async ({ id, params }) => {
    const { method, path, input } = params.input;
    answer(id, await dispatch(id, method, path, input));
  },
  // Dispatches the same twice at once, and tells how many calls it had beside itself.
  both: async ({ id, params: { input } }) => {
    const { method, path, input: given } = input;
    const asked = [0, 1].map(() => dispatch(id, method, path, given));
    answer(id, { answers: await Promise.all(asked), most: mostAtOnce - 1 });
  },
  turn: async ({ id, params: { input } }) => {
    const said = await dispatch(id, "QUERY", "/rooms", { nights: 2 });
    answer(id, { result: { task: input.task, answer: said } });
  },
  reply: ({ id, params: { input, function: name } }) =>
    answer(id, { result: { task: input.task, by: name }, confidence: 0.9 }),
  stranger: async ({ id }) => answer(id, await dispatch(987_654, "QUERY", "/", {})),
  unknown: async ({ id }) => {
    send({ id: "u1", method: "surprise", params: {} });
    answer(id, await new Promise((resolve) => waiting.set("u1", resolve)));
  },
  log: ({ id }) => {
    send({
      method: "log",
      params: { call: id, level: "warning", message: "few rooms", fields: { left: 2, level: "x" } },
    });
    send({ method: "log", params: { level: "info", message: "at large" } });
    process.stderr.write("a line of standard error\n");
    answer(id, {});
  },
  flood: ({ id }) => {
    for (let i = 0; i < 200_000; i += 1) process.stdout.write(`garbage ${i}\n`);
    answer(id, { ok: true });
  },
  noise: ({ id }) => {
    const text = "n".repeat(100);
    for (let i = 0; i < 60_000; i += 1) process.stderr.write("n\n");
    for (let i = 0; i < 20_000; i += 1)
      send({ method: "log", params: { call: id, message: text } });
    answer(id, { ok: true });
  },
  greedy: ({ id }) => {
    process.stdin.pause();
    for (let i = 0; i < 20_000; i += 1) {
      send({ id: `g${i}`, method: "x".repeat(64), params: { text: "z".repeat(200), call: id } });
    }
  },
};

function hear(line) {
  const message = JSON.parse(line);
  if (message.method === "call") {
    const run = functions[message.params.function];
    if (run === undefined)
      send({ id: message.id, error: { code: -32601, message: "no such function" } });
    else {
      calls.add(message.id);
      mostAtOnce = Math.max(mostAtOnce, calls.size);
      run(message);
    }
  } else if (message.method === "cancel") {
    cancelled.get(message.params.call)?.();
  } else waiting.get(message.id)?.(message.result ?? { refused: message.error });
}

const hello = { protocol: 1, functions: Object.keys(functions) };
switch (mode) {
  case "mute":
    setInterval(() => undefined, 1_000);
    break;
  case "untold":
    setInterval(() => undefined, 1_000);
    process.stdout.write('{"method":"hello"}\n');
    break;
  case "old":
    send({ method: "hello", params: { ...hello, protocol: 99 } });
    break;
  case "nameless":
    send({ method: "hello", params: { protocol: 1 } });
    break;
  case "exit":
    console.error("no module named booking");
    process.exit(4);
    break;
  case "traceback":
    console.error('  File "booking.py", line 74\n    def (\n        ^');
    console.error("SyntaxError: invalid syntax");
    process.exit(1);
    break;
  case "quits":
    process.exit(0);
    break;
  case "loop":
    // Says hello, and is gone at its first word.
    send({ method: "hello", params: hello });
    process.stdin.once("data", () => process.exit(5));
    break;
  case "once":
    // The first of its kind lives; those that follow exit at once.
    try {
      writeFileSync(rest[0], "", { flag: "wx" });
    } catch {
      process.exit(6);
    }
    send({ method: "hello", params: hello });
    createInterface({ input: process.stdin }).on("line", hear);
    break;
  case "immortal":
    process.on("SIGTERM", () => console.error("not now"));
    setInterval(() => undefined, 1_000);
    send({ method: "hello", params: hello });
    createInterface({ input: process.stdin }).on("line", hear);
    break;
  case "signed":
    send({ method: "hello", params: { ...hello, signatures: { echo: JSON.parse(rest[0]) } } });
    createInterface({ input: process.stdin })
      .on("line", hear)
      .on("close", () => process.exit(0));
    break;
  default:
    send({ method: "hello", params: hello });
    createInterface({ input: process.stdin })
      .on("line", hear)
      .on("close", () => process.exit(0));
}
