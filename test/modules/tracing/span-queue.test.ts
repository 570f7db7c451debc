/** Spans that wait for a collector, without one.   docs/tracing.md */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { DROPPED_CHANNEL } from "../../../src/dispatch/observer.ts";
import { traceRequest } from "../../../src/modules/tracing/span-octets.ts";
import { SpanQueue } from "../../../src/modules/tracing/span-queue.ts";
import { SPAN_KINDS, SpanRecord } from "../../../src/modules/tracing/span-record.ts";
import type { SpanBatch, SpanSender } from "../../../src/modules/tracing/thread-sender.ts";
import { RecordDraft } from "../../../src/state/records/record.ts";
import { createRecordSigner, createSealer } from "../../../src/state/records/sealer.ts";
import { readTraces } from "../../support/collector.ts";
import { PATIENCE } from "../../support/patience.ts";

const WAITING = 8_192;
const BATCH = 512;
const SOURCE = { resource: {}, scope: { name: "test", version: "1" } };

interface Sent {
  readonly batch: SpanBatch;
  answer(lost: number): void;
}

/** A sender whose batches a test answers, in its time. */
function openQueue() {
  const sent: Sent[] = [];
  const sender: SpanSender = {
    send: (batch) => new Promise((answer) => sent.push({ batch, answer })),
    close: async () => undefined,
  };
  const dropped = { count: 0 };
  const count = (message: unknown): void => {
    dropped.count += (message as { readonly count: number }).count;
  };
  subscribe(DROPPED_CHANNEL, count);
  onTestFinished(() => void unsubscribe(DROPPED_CHANNEL, count));
  const queue = new SpanQueue(sender);
  onTestFinished(async () => void (await queue.close(0)));
  return { queue, sent, dropped };
}

/** A record that is not sealed yet. */
function draft(): RecordDraft {
  return new RecordDraft({ before: "", after: "" }, createSealer(createRecordSigner()), undefined);
}

function add(queue: SpanQueue, count: number, name = "QUERY /rooms", late?: RecordDraft): void {
  for (let at = 0; at < count; at += 1) {
    const options = { name, kind: SPAN_KINDS.server, at: 1 };
    queue.add(new SpanRecord("1".repeat(16), "a".repeat(32), options), late);
  }
}

function tracesIn({ batch: { octets } }: Sent): ReturnType<typeof readTraces> {
  return readTraces(traceRequest(SOURCE, octets));
}

function namesIn(sent: Sent): readonly string[] {
  return tracesIn(sent).flatMap(({ spans }) => spans.map(({ name }) => name));
}

describe("SpanQueue", () => {
  it("keeps so many spans and no more, and counts the others at once", async () => {
    const { queue, sent, dropped } = openQueue();
    add(queue, WAITING + 1_808);
    expect(dropped.count).toBe(1_808);
    expect(sent.map(({ batch }) => batch.count)).toEqual(Array(8).fill(BATCH));
    expect(await queue.close(0)).toBe(WAITING);
    expect(dropped.count).toBe(WAITING + 1_808);
  });

  it("sends what waits as soon as other batches are answered, and counts those not taken", async () => {
    const { queue, sent, dropped } = openQueue();
    add(queue, 9 * BATCH);
    expect(sent).toHaveLength(8);
    sent[0]?.answer(0);
    sent[1]?.answer(BATCH);
    await vi.waitFor(() => expect(sent).toHaveLength(9), PATIENCE);
    expect(dropped.count).toBe(BATCH);
    add(queue, WAITING - 7 * BATCH);
    expect(dropped.count).toBe(BATCH);
    add(queue, 1);
    expect(dropped.count).toBe(BATCH + 1);
  });

  it("waits a second for a batch to become full", () => {
    const { queue, sent } = openQueue();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    add(queue, 1, "first");
    vi.advanceTimersByTime(999);
    add(queue, 1, "second");
    expect(sent).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(sent.map(namesIn)).toEqual([["first", "second"]]);
    add(queue, 1, "third");
    vi.advanceTimersByTime(1_000);
    expect(sent.map(namesIn)).toEqual([["first", "second"], ["third"]]);
  });

  it("sends the rest when it is closed, and says what was lost of it", async () => {
    const { queue, sent } = openQueue();
    add(queue, BATCH + 3);
    const closed = queue.close(60_000);
    expect(sent.map(({ batch }) => batch.count)).toEqual([BATCH, 3]);
    sent[0]?.answer(0);
    sent[1]?.answer(3);
    expect(await closed).toBe(3);
  });

  it("waits a second for the record that a span is to name, and no longer", async () => {
    const { queue, sent } = openQueue();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate"] });
    onTestFinished(() => void vi.useRealTimers());
    const [kept, lost] = [draft(), draft()];
    add(queue, 1, "kept", kept);
    add(queue, 1, "lost", lost);
    await vi.advanceTimersByTimeAsync(900);
    kept.seal("jws", "b".repeat(64));
    // A batch waits for others as well.
    await vi.advanceTimersByTimeAsync(1_200);
    expect(sent).toHaveLength(1);
    const [{ spans } = { spans: [] }] = sent.flatMap(tracesIn);
    expect(spans.map(({ name, attributes }) => [name, attributes["agtp.audit_id"]])).toEqual([
      ["kept", "b".repeat(64)],
      ["lost", undefined],
    ]);
  });

  it("sends long spans in smaller batches", () => {
    const { queue, sent } = openQueue();
    add(queue, 6, "x".repeat(100_000));
    expect(sent.map(({ batch }) => batch.count)).toEqual([6]);
  });
});
