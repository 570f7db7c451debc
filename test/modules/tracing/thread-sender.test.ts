/** The thread that sends spans; a thread runs built code only. */
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ProtobufOctets } from "../../../src/modules/tracing/protobuf-octets.ts";
import { writeSpan } from "../../../src/modules/tracing/span-octets.ts";
import { SPAN_KINDS, SpanRecord } from "../../../src/modules/tracing/span-record.ts";
import { type SpanBatch, ThreadSender } from "../../../src/modules/tracing/thread-sender.ts";
import { openCollector } from "../../support/collector.ts";
import { makeDirectory } from "../../support/directory.ts";
import { PATIENCE } from "../../support/patience.ts";

const BUILT = resolve(import.meta.dirname, "../../../dist/src/modules/tracing/sending-thread.js");
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const AT = 1_700_000_000_123.5;

function openThread(url: string, script: string = BUILT): ThreadSender {
  const sender = new ThreadSender({
    script: pathToFileURL(script),
    collector: { url, headers: { "x-key": "k" }, timeoutMillis: 2_000, concurrencyLimit: 8 },
    resource: { "service.name": "desk" },
    restMs: 1,
  });
  onTestFinished(() => sender.close());
  return sender;
}

/** So many spans that are alike. */
function makeBatch(count = 1): SpanBatch {
  const parent = {
    ...{ traceId: TRACE, spanId: "b7ad6b7169203331", state: "vendor=1" },
    ...{ isSampled: true, isRandom: false },
  };
  const options = { name: "AGTP", kind: SPAN_KINDS.server, at: AT };
  const span = new SpanRecord("00f067aa0ba902b7", parent, options);
  span.name = "QUERY /rooms/{room}";
  span.set("agtp.status", 200);
  span.set("agtp.upstream", "Büro");
  span.set("agtp.status", 503);
  span.hasFailed = true;
  span.endedAt = AT + 2;
  const octets = new ProtobufOctets();
  for (let at = 0; at < count; at += 1) writeSpan(octets, span);
  return { count, octets: octets.written };
}

describe("ThreadSender", () => {
  it("sends spans as they were, from another thread", async () => {
    const collector = await openCollector();
    onTestFinished(() => collector.close());
    const sender = openThread(`${collector.endpoint}/v1/traces`);
    expect(await sender.send(makeBatch(2))).toBe(0);
    expect(collector.spans).toHaveLength(2);
    expect(collector.spans[0]).toEqual({
      ...{ traceId: TRACE, spanId: "00f067aa0ba902b7", parentSpanId: "b7ad6b7169203331" },
      ...{ name: "QUERY /rooms/{room}", kind: 2, status: 2, traceState: "vendor=1", flags: 0x301 },
      attributes: { "agtp.status": 503, "agtp.upstream": "Büro" },
      startNanos: 1_700_000_000_123_500_000n,
      endNanos: 1_700_000_000_125_500_000n,
    });
    expect(collector.resource).toMatchObject({ "service.name": "desk" });
    expect(collector.headers[0]).toMatchObject({ "x-key": "k" });
  });

  it("says what the collector did not take", async () => {
    const collector = await openCollector(() => 400);
    onTestFinished(() => collector.close());
    const sender = openThread(`${collector.endpoint}/v1/traces`);
    expect(await sender.send(makeBatch(3))).toBe(3);
  });

  // OTLP "Partial Success"
  it.each([
    ["some of them", 2, 2],
    ["more than there were", 9, 3],
    ["none, with a warning", 0, 0],
  ])("says what the collector took and then rejected: %s", async (_, rejected, lost) => {
    const collector = await openCollector(() => ({ rejectedSpans: rejected }));
    onTestFinished(() => collector.close());
    const sender = openThread(`${collector.endpoint}/v1/traces`);
    expect(await sender.send(makeBatch(3))).toBe(lost);
    expect(collector.spans).toHaveLength(3);
  });

  it("gives up what a thread had that ended, and starts another one later", async () => {
    const script = join(makeDirectory(), "thread.mjs");
    writeFileSync(script, "throw new Error('no memory')");
    const sender = openThread("http://127.0.0.1:9/v1/traces", script);
    expect(await sender.send(makeBatch())).toBe(1);
    writeFileSync(
      script,
      `import { parentPort } from "node:worker_threads";
       parentPort.on("message", ({ id }) => parentPort.postMessage({ id, lost: 0 }));`,
    );
    await vi.waitFor(async () => expect(await sender.send(makeBatch())).toBe(0), PATIENCE);
  });

  it("settles what is on its way when it is closed", async () => {
    const collector = await openCollector(() => undefined);
    onTestFinished(() => collector.close());
    const sender = openThread(`${collector.endpoint}/v1/traces`);
    const sent = sender.send(makeBatch());
    await sender.close();
    expect(await sent).toBe(1);
    expect(await sender.send(makeBatch())).toBe(1);
  });
});
