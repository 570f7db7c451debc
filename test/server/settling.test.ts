/** Replies that wait for their records: what leaves a connection when, and what never does. */
import { performance } from "node:perf_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { Dispatcher } from "../../src/dispatch/dispatcher.ts";
import type { Exchange } from "../../src/dispatch/exchange.ts";
import { SendBudget } from "../../src/server/connection-limits.ts";
import { createListener } from "../../src/server/listener.ts";
import type { LateFields, Response } from "../../src/wire/message.ts";
import { makeCertificate } from "../support/certificate.ts";
import { connectRaw } from "../support/daemon.ts";
import { encodeRequest } from "../support/dispatch.ts";
import { LIMITS } from "../support/limits.ts";

const certificate = makeCertificate();

/** The record of one reply, which a test makes known or has lost. */
class Late implements LateFields {
  isKnown = false;
  readonly lines: string;

  constructor(number: number) {
    this.lines = `Audit-ID: ${number}\r\n`;
  }
}

/** A listener whose replies carry a number each; a test settles their records itself. */
async function startListener() {
  const records: Late[] = [];
  const waiting: (() => void)[] = [];
  const respond = (): Response => {
    const record = new Late(records.length + 1);
    records.push(record);
    return { status: 200, responseId: "", fields: "", lateFields: record, body: "" };
  };
  const dispatcher: Dispatcher = {
    answer: ({ path }: Exchange) => (path === "/later" ? nextTurn().then(respond) : respond()),
    answerFault: respond,
  };
  const { cert, key } = await certificate;
  const listener = createListener({
    identity: { cert, key, clientAuth: "none", clientCa: undefined },
    limits: LIMITS,
    sendBudget: new SendBudget(LIMITS),
    dispatcher,
    ledger: { whenSettled: (done) => waiting.push(() => done(undefined)) },
    onFault: (error) => {
      throw error;
    },
    onRefusedPeer: () => undefined,
  });
  const { port } = await listener.listen("127.0.0.1", 0);
  onTestFinished(() => listener.drain(0));
  const client = await connectRaw({ port });
  onTestFinished(() => client.destroy());
  /** Waits until so many are answered, sent or not. */
  const answered = async (count: number): Promise<void> => {
    while (records.length < count) await nextTurn();
  };
  /** Waits until replies wait for their records, and says for how many connections they do. */
  const held = async (): Promise<number> => {
    while (waiting.length === 0) await nextTurn();
    return waiting.length;
  };
  const settle = async (): Promise<void> => {
    await held();
    waiting.shift()?.();
  };
  return { client, records, held, answered, settle };
}

beforeEach(() => {
  // Time stands still: what a client sent at once is answered in one turn, on a machine that is busy too.
  const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now());
  onTestFinished(() => clock.mockRestore());
});

function ask(...paths: readonly string[]): Buffer {
  return Buffer.concat(paths.map((path) => encodeRequest({ method: "QUERY", path })));
}

function know(records: readonly Late[]): void {
  for (const record of records) record.isKnown = true;
}

// AGTP-IDENTIFIERS "Attribution Chain"
describe("a reply with a record", () => {
  it("leaves when its record is kept, with those that were answered with it", async () => {
    const { client, records, held, answered, settle } = await startListener();
    client.write(ask("/1", "/2", "/3"));
    await answered(3);
    expect(await held()).toBe(1);
    know(records);
    await settle();
    const replies = await client.replies(3);
    expect(replies.map(({ headers }) => headers.get("audit-id"))).toEqual(["1", "2", "3"]);
  });

  it("waits for its own record when it is answered while others wait", async () => {
    const { client, records, held, answered, settle } = await startListener();
    client.write(ask("/1"));
    await answered(1);
    client.write(ask("/2", "/later"));
    await answered(3);
    expect(await held()).toBe(1);
    know(records.slice(0, 1));
    await settle();
    const [first, ...others] = await client.replies(1);
    expect(first?.headers.get("audit-id")).toBe("1");
    expect(others).toEqual([]);
    expect(await held()).toBe(1);
    know(records);
    await settle();
    const replies = await client.replies(3);
    expect(replies.map(({ headers }) => headers.get("audit-id"))).toEqual(["1", "2", "3"]);
  });

  it("is answered 503 in its place when its record is lost, and others are not", async () => {
    const { client, records, answered, settle } = await startListener();
    client.write(ask("/1", "/2"));
    await answered(2);
    know(records.slice(0, 1));
    await settle();
    client.write(ask("/3"));
    await answered(3);
    know(records.slice(2));
    await settle();
    const replies = await client.replies(3);
    expect(replies.map(({ status }) => status)).toEqual([200, 503, 200]);
    const [, lost] = replies;
    expect(lost?.body["error"]).toMatchObject({ code: "outcome-unknown" });
    expect(lost?.headers.get("retry-after")).toBe("1");
    expect(lost?.headers.has("audit-id")).toBe(false);
  });

  it("leaves before the connection ends after a framing fault", async () => {
    const { client, records, answered, settle } = await startListener();
    client.write(Buffer.concat([ask("/1"), Buffer.from("nonsense\r\n\r\n")]));
    await answered(2);
    know(records);
    await settle();
    client.end();
    expect(await client.closed()).toHaveLength(2);
  });
});
