import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { connect } from "node:tls";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { CHANNELS } from "../../src/dispatch/observer.ts";
import { encodeRequest, parseTranscript } from "../../src/programs/conformance/transcript.ts";
import { STATUS_TEXT } from "../../src/wire/message.ts";
import { isWireFault } from "../../src/wire/message-parser.ts";
import { ResponseParser } from "../../src/wire/response-parser.ts";
import { createDaemon, type TestDaemon } from "../support/daemon.ts";
import { configFile, copyDeployment, type TestDeployment } from "../support/deployment.ts";
import { PATIENCE } from "../support/patience.ts";

const EXCHANGES = resolve(import.meta.dirname, "../exchanges");

/** What the golden exchanges send: valid requests, and many that are nearly so. */
const corpus = readdirSync(EXCHANGES)
  .filter((name) => name.endsWith(".agtp"))
  .flatMap((name) => {
    const { transcript } = parseTranscript(readFileSync(join(EXCHANGES, name), "utf8"), name);
    return transcript?.exchanges.map(({ request }) => encodeRequest(request)) ?? [];
  });

const CONFIG = configFile({
  limits: {
    ...{ header_timeout_ms: 150, body_timeout_ms: 150, idle_timeout_ms: 150 },
    ...{ handler_timeout_ms: 100, max_pipelined: 3, body_bytes: 4096 },
  },
  policies: {
    scope_required_for_invocation: false,
    identity: { unknown_agents: "accept" },
    methods: { custom: ["SALUTE"] },
  },
  metrics: { enabled: true, port: 0 },
});

const TOKENS = [
  ...["\r\n", "\n", "\r", "\r\n\r\n", "\0", "#", " ", ":", ",", "%00", "%", "//", "{", "}", '"'],
  ...["AGTP/1.0 ", "AGTP/9.9 ", "HTTP/1.1", "Content-Length: 5\r\n", "Content-Length: 0\r\n"],
  ...["Transfer-Encoding: chunked\r\n", "Agent-ID: x\r\n", "Authority-Scope: *:*\r\n", "\xff\xfe"],
  ...["9".repeat(40), "-1", "1e9", "0x10", "[".repeat(200), "x".repeat(9_000), "__proto__"],
];

const place = fc.nat(2 ** 16);
type Change = (bytes: Buffer) => Buffer;

function splice(bytes: Buffer, at: number, length: number, put: Buffer): Buffer {
  const from = at % (bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, from), put, bytes.subarray(from + length)]);
}

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(place, fc.integer({ min: 0, max: 7 })).map(([at, bit]) => (bytes: Buffer) => {
    const flipped = Buffer.from(bytes);
    if (flipped.length > 0) flipped[at % flipped.length]! ^= 1 << bit;
    return flipped;
  }),
  place.map((at) => (bytes: Buffer) => bytes.subarray(0, at % (bytes.length + 1))),
  fc.tuple(place, fc.nat(40)).map(([at, length]) => (bytes: Buffer) => {
    const from = at % (bytes.length + 1);
    return splice(bytes, from, 0, bytes.subarray(from, from + length));
  }),
  fc.tuple(place, fc.nat(40)).map(
    ([at, length]) =>
      (bytes: Buffer) =>
        splice(bytes, at, length, Buffer.alloc(0)),
  ),
  fc.tuple(place, fc.constantFrom(...TOKENS)).map(
    ([at, token]) =>
      (bytes: Buffer) =>
        splice(bytes, at, 0, Buffer.from(token, "latin1")),
  ),
  fc
    .constantFrom("0", "1", "7", "4097", "99999999999999999999")
    .map((digits) => (bytes: Buffer) => {
      const text = bytes.toString("latin1");
      return Buffer.from(text.replace(/(content-length: *)\d+/i, `$1${digits}`), "latin1");
    }),
);

/** What a peer sends, in which pieces, and how it leaves. */
const attack = fc.record({
  requests: fc.array(fc.constantFrom(...corpus), { minLength: 1, maxLength: 6 }),
  changes: fc.array(change, { maxLength: 4 }),
  cuts: fc.array(place, { maxLength: 5 }),
  farewell: fc.constantFrom("ends", "waits", "vanishes"),
});
type Attack = typeof attack extends fc.Arbitrary<infer Value> ? Value : never;

function pieces({ requests, changes, cuts }: Attack): readonly Buffer[] {
  let bytes: Buffer = Buffer.concat(requests);
  for (const apply of changes) bytes = apply(bytes);
  const points = cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b);
  return [...points, bytes.length].map((end, index) => bytes.subarray(points[index - 1] ?? 0, end));
}

/** Plays one peer; the connection is over when it resolves, with whatever was answered. */
async function play(port: number, script: Attack, session: Buffer | undefined): Promise<Buffer> {
  const options = { host: "127.0.0.1", port, rejectUnauthorized: false };
  const socket = connect(session === undefined ? options : { ...options, session });
  const received: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => received.push(chunk));
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => resolve());
  });
  for (const piece of pieces(script)) {
    socket.write(piece);
    await turn();
  }
  if (script.farewell === "ends") socket.end();
  if (script.farewell === "vanishes") socket.destroy();
  await closed;
  return Buffer.concat(received);
}

/** Every octet of an answer belongs to a response of this server. */
function expectResponses(bytes: Buffer): void {
  const parser = new ResponseParser();
  parser.push(bytes);
  for (let next = parser.next(); next !== undefined; next = parser.next()) {
    if (isWireFault(next)) throw new Error(`${next.message} in ${bytes.toString("latin1")}`);
    expect(Object.keys(STATUS_TEXT)).toContain(String(next.status));
    expect(next.headers.get("server-id")).toBe("test");
    const isJson = next.headers.get("content-type")?.endsWith("json") === true;
    if (isJson) JSON.parse(Buffer.from(next.body).toString("utf8"));
  }
  expect(parser.phase).toBe("idle");
}

describe("a daemon under thousands of mutated byte streams", () => {
  let deployment: TestDeployment;
  let server: TestDaemon;
  const counts = { started: 0, ended: 0 };
  const onStart = (): void => {
    counts.started += 1;
  };
  const onEnd = (message: unknown): void => {
    if ((message as { exchange?: object }).exchange !== undefined) counts.ended += 1;
  };

  beforeAll(async () => {
    deployment = copyDeployment(join(EXCHANGES, "deployment"), { "agtp-server.toml": CONFIG });
    server = await createDaemon(deployment);
    subscribe(CHANNELS.start, onStart);
    subscribe(CHANNELS.end, onEnd);
  });
  afterAll(async () => {
    unsubscribe(CHANNELS.start, onStart);
    unsubscribe(CHANNELS.end, onEnd);
    await server.close();
    deployment.remove();
  });

  it("answers with well-formed responses or closes, and goes on serving", async () => {
    const { port } = server.daemon;
    // A handler has a tenth of a second here: less than the first answer may take that reads the manifest.
    await vi.waitFor(async () => askDiscover(await server.connect()), PATIENCE);
    const first = await server.connect();
    await askDiscover(first);
    const session = first.socket.getSession();
    first.destroy();
    await fc.assert(
      fc.asyncProperty(fc.array(attack, { minLength: 100, maxLength: 100 }), async (attacks) => {
        const played = attacks.map(async (script) => {
          const answer = await play(port, script, session);
          if (script.farewell !== "vanishes") expectResponses(answer);
        });
        await Promise.all(played);
      }),
      { numRuns: 20, interruptAfterTimeLimit: 20_000, endOnFailure: true },
    );
    const last = await server.connect();
    await askDiscover(last);
    last.destroy();
    await allClosed();
    expect(counts.started).toBeGreaterThan(0);
    expect(counts.ended).toBe(counts.started);
  });

  async function askDiscover(client: Awaited<ReturnType<TestDaemon["connect"]>>): Promise<void> {
    client.write("AGTP/1.0 DISCOVER /\r\n\r\n");
    expect((await client.replies(1))[0]?.status).toBe(200);
  }

  /** Asks the metrics until no connection is left. */
  async function allClosed(): Promise<void> {
    const ready = server.log.find(({ event }) => event === "listening");
    const url = `http://127.0.0.1:${ready?.["metrics_port"]}/metrics`;
    for (let text = ""; !text.includes("\nagtp_open_connections 0\n"); ) {
      text = await (await fetch(url)).text();
    }
  }
});
