/**
 * Replays every golden transcript: in process, and over TLS with the bytes split at random points.
 * The requests of one file are sent as one stream, so pipelining is replayed too.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { matchAny } from "../src/programs/conformance/response-pattern.ts";
import {
  encodeRequest,
  parseTranscript,
  type Transcript,
} from "../src/programs/conformance/transcript.ts";
import { createDaemon, type TestDaemon } from "./support/daemon.ts";
import { copyDeployment, type TestDeployment } from "./support/deployment.ts";
import { createServer, type TestReply, type TestServer } from "./support/dispatch.ts";

const FOLDER = join(import.meta.dirname, "exchanges");
const FIXTURE = join(FOLDER, "deployment");
const SEED = 20260527;

const transcripts = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".agtp"))
  .toSorted()
  .map((name) => {
    const { transcript, problems } = parseTranscript(
      readFileSync(join(FOLDER, name), "utf8"),
      name,
    );
    if (transcript === undefined) throw new Error(JSON.stringify(problems));
    return transcript;
  });

/** One server a configuration, opened by the first transcript that is written for it. */
class Fixtures<Server extends { close(): Promise<void> }> {
  readonly #open: (deployment: TestDeployment) => Promise<Server>;
  readonly #servers = new Map<string, Promise<Server>>();
  readonly #deployments: TestDeployment[] = [];

  constructor(open: (deployment: TestDeployment) => Promise<Server>) {
    this.#open = open;
  }

  get(config: string): Promise<Server> {
    const known = this.#servers.get(config);
    if (known !== undefined) return known;
    const name = config === "" ? "agtp-server.toml" : `agtp-server.${config}.toml`;
    const text = readFileSync(join(FIXTURE, name), "utf8");
    const deployment = copyDeployment(FIXTURE, { "agtp-server.toml": text });
    this.#deployments.push(deployment);
    const server = this.#open(deployment);
    this.#servers.set(config, server);
    return server;
  }

  async close(): Promise<void> {
    for (const server of this.#servers.values()) await (await server).close();
    for (const deployment of this.#deployments) deployment.remove();
  }
}

describe("golden exchanges, in process", () => {
  const servers = new Fixtures<TestServer>((deployment) => createServer(deployment));
  afterAll(() => servers.close());

  it.each(transcripts)("$name", async (transcript) => {
    const server = await servers.get(transcript.config);
    const { bytes, isEnded } = streamOf(transcript);
    compare(transcript, await server.exchange([bytes], isEnded));
  });
});

describe("golden exchanges, over TLS in pieces", () => {
  const servers = new Fixtures<TestDaemon>(createDaemon);
  afterAll(() => servers.close());

  it.each(transcripts)("$name", async (transcript) => {
    const server = await servers.get(transcript.config);
    const client = await server.connect();
    const { bytes, isEnded, isClosed } = streamOf(transcript);
    for (const piece of splitAtRandom(bytes, SEED)) client.write(piece);
    if (isEnded) client.end();
    const count = transcript.exchanges.length;
    compare(transcript, isClosed ? await client.closed() : await client.replies(count));
    client.destroy();
  });
});

function streamOf({ exchanges }: Transcript) {
  return {
    bytes: Buffer.concat(exchanges.map(({ request }) => encodeRequest(request))),
    isEnded: exchanges.some(({ request }) => request.isCut),
    isClosed: exchanges.some(({ isClosed }) => isClosed),
  };
}

function compare({ exchanges }: Transcript, replies: readonly TestReply[]): void {
  const mismatches = exchanges.flatMap(({ line, responses }, index) => {
    const reply = replies[index];
    if (responses.length === 0) return reply === undefined ? [] : [`line ${line}: was answered`];
    if (reply === undefined) return [`line ${line}: was not answered`];
    const { status, headers, text } = reply;
    const actual = { status, headers, body: text };
    const found = matchAny(responses, actual, { unlistedHeaders: "refuse" });
    if (found.kind === "match") return [];
    return found.mismatches.map((mismatch) => `line ${line}: ${mismatch}`);
  });
  expect(mismatches).toEqual([]);
  expect(replies.length).toBeLessThanOrEqual(exchanges.length);
}

/** Up to eight pieces; the generator is mulberry32, so that a failure can be repeated. */
function splitAtRandom(bytes: Buffer, seed: number): readonly Buffer[] {
  let state = seed + bytes.length;
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const cuts = Array.from({ length: 7 }, () => Math.floor(random() * bytes.length));
  const points = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
  return points.slice(1).map((end, index) => bytes.subarray(points[index], end));
}
