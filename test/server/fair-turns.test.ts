/** Much that comes at once: a turn of the loop has its share of it, so that others have theirs.   docs/limits.md */
import { describe, expect, it } from "vitest";
import { openDaemon } from "../support/daemon.ts";
import { configFile, endpointFile } from "../support/deployment.ts";

/** Answers with the number of the turn in which it was called. */
const TURN_MODULE = `
let turn = 0;
const count = () => { turn += 1; setImmediate(count).unref(); };
count();
export const when = () => ({ body: { turn } });
export const worked = () => {
  const before = process.cpuUsage();
  while (process.cpuUsage(before).user < 3_000);
  return { body: { turn } };
};
`;

const things = (path: string, handler: string) =>
  endpointFile({
    ...{ method: "EXECUTE", path, properties: { text: { type: "string" } } },
    handler: { type: "registered_function", function: `handlers.${handler}` },
  });
const BODY = JSON.stringify({ text: "x".repeat(40_000) });
const CALLERS = 12;
const REQUEST = `AGTP/1.0 EXECUTE /things\r\nAgent-ID: ${"a".repeat(64)}\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

const WORK = `AGTP/1.0 EXECUTE /work\r\nAgent-ID: ${"a".repeat(64)}\r\n\r\n`;

const NOW = `AGTP/1.0 EXECUTE /things\r\nAgent-ID: ${"a".repeat(64)}\r\n\r\n`;

const FILES = {
  "agtp-server.toml": configFile({
    policies: { scope_required_for_invocation: false, identity: { unknown_agents: "accept" } },
    gateway: { enabled: true, port: 0 },
  }),
  "endpoints/things.toml": things("/things", "when"),
  "endpoints/work.toml": things("/work", "worked"),
  "handlers.mjs": TURN_MODULE,
};

/** The most that were answered in one turn of the loop. */
function mostInATurn(turns: readonly unknown[]): number {
  const counts = turns.map((turn) => turns.filter((other) => other === turn).length);
  return Math.max(...counts);
}

describe("long bodies", () => {
  it("of many connections are read one a turn of the loop", async () => {
    const daemon = await openDaemon(FILES);
    const clients = await Promise.all(Array.from({ length: CALLERS }, () => daemon.connect()));
    for (const client of clients) client.write(REQUEST);
    const answers = await Promise.all(clients.map((client) => client.replies(1)));
    const turns = answers.map(([reply]) => reply?.body["turn"]);
    expect(new Set(turns).size).toBe(CALLERS);
  });

  it("of one connection that pipelines are read one a turn of the loop, in their order", async () => {
    const daemon = await openDaemon(FILES);
    const client = await daemon.connect();
    client.write(REQUEST.repeat(5));
    const turns = (await client.replies(5)).map(({ body }) => Number(body["turn"]));
    expect(new Set(turns).size).toBe(5);
    expect(turns).toEqual(turns.toSorted((a, b) => a - b));
  });

  it("of the HTTP sidecar are read one a turn of the loop", async () => {
    const { daemon } = await openDaemon(FILES);
    const post = async (): Promise<unknown> => {
      const headers = { "content-type": "application/json" };
      const init = { method: "POST", headers, body: BODY };
      const response = await fetch(`http://127.0.0.1:${daemon.gatewayPort}/things/execute`, init);
      return ((await response.json()) as { readonly turn: number }).turn;
    };
    const turns = await Promise.all(Array.from({ length: CALLERS }, post));
    expect(new Set(turns).size).toBe(CALLERS);
  });
});

describe("many requests", () => {
  it("that many connections pipeline have one turn's share together", async () => {
    const daemon = await openDaemon(FILES);
    const clients = await Promise.all(Array.from({ length: CALLERS }, () => daemon.connect()));
    for (const client of clients) client.write(WORK.repeat(4));
    const answers = await Promise.all(clients.map((client) => client.replies(4)));
    const turns = answers.map((replies) => replies.map(({ body }) => Number(body["turn"])));
    expect(mostInATurn(turns.flat())).toBeLessThan(CALLERS);
  });

  it("that many connections send at once have one turn's share together", async () => {
    const daemon = await openDaemon(FILES);
    const clients = await Promise.all(Array.from({ length: CALLERS }, () => daemon.connect()));
    for (const round of [1, 2]) {
      for (const client of clients) client.write(WORK);
      const answers = await Promise.all(clients.map((client) => client.replies(round)));
      const turns = answers.map((replies) => replies.at(-1)?.body["turn"]);
      expect(mostInATurn(turns)).toBeLessThan(CALLERS / 2);
    }
  });

  it("of connections that asked for long work hold up nobody who did not", async () => {
    const daemon = await openDaemon(FILES);
    const [other, ...clients] = await Promise.all(
      Array.from({ length: CALLERS + 1 }, () => daemon.connect()),
    );
    // From now on it is known what they ask for.
    for (const client of clients) client.write(WORK.repeat(2));
    await Promise.all(clients.map((client) => client.replies(2)));
    for (const client of clients) client.write(WORK);
    other?.write(NOW);
    const [answer] = (await other?.replies(1)) ?? [];
    const answers = await Promise.all(clients.map((client) => client.replies(3)));
    const later = answers.filter(
      ([, , last]) => Number(last?.body["turn"]) > Number(answer?.body["turn"]),
    );
    expect(later.length).toBeGreaterThan(CALLERS / 2);
  });

  it("of many HTTP clients have one turn's share together", async () => {
    const { daemon } = await openDaemon(FILES);
    const post = async (): Promise<unknown> => {
      const url = `http://127.0.0.1:${daemon.gatewayPort}/work/execute`;
      const headers = { "content-type": "application/json" };
      const response = await fetch(url, { method: "POST", headers, body: "{}" });
      return ((await response.json()) as { readonly turn: number }).turn;
    };
    await Promise.all(Array.from({ length: CALLERS }, post));
    // Those of connections that are open come in one turn.
    expect(mostInATurn(await Promise.all(Array.from({ length: CALLERS }, post)))).toBeLessThan(5);
  });
});
