/** Spans on the wire, read by the protocol's own definitions.   formats §13 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ProtobufOctets } from "../../../src/modules/tracing/protobuf-octets.ts";
import { spanShape, traceRequest, writeSpan } from "../../../src/modules/tracing/span-octets.ts";
import {
  type AttributeValue,
  SPAN_KINDS,
  type SpanLink,
  SpanRecord,
} from "../../../src/modules/tracing/span-record.ts";
import { readTraces, type SentSpan } from "../../support/collector.ts";

const SOURCE = {
  resource: { "service.name": "desk" },
  scope: { name: "agtpd", version: "1" },
};

function send(spans: readonly SpanRecord[]): readonly SentSpan[] {
  const octets = new ProtobufOctets(1);
  for (const span of spans) writeSpan(octets, span);
  const [sent, ...more] = readTraces(traceRequest(SOURCE, octets.written));
  expect(more).toEqual([]);
  expect(sent?.resource).toEqual(SOURCE.resource);
  expect(sent?.scope).toEqual(SOURCE.scope);
  return sent?.spans ?? [];
}

const hex = (length: number): fc.Arbitrary<string> =>
  fc
    .uint8Array({ minLength: length, maxLength: length })
    .map((octets) => Buffer.from(octets).toString("hex"));
const text = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ minLength: 100, maxLength: 400 }),
  fc.constant("é".repeat(20_000)),
);
const value: fc.Arbitrary<AttributeValue> = fc.oneof(
  text,
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => (one === 0 ? 0 : one)),
);
const attributes = fc.dictionary(fc.string({ minLength: 1 }), value, {
  maxKeys: 6,
  noNullPrototype: true,
});
const parent: fc.Arbitrary<SpanLink> = fc.record({
  traceId: hex(16),
  spanId: hex(8),
  isSampled: fc.constant(true),
  isRandom: fc.boolean(),
  state: fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
});
/** Whole microseconds; a number has no finer ones so long after 1970. */
const time = fc
  .integer({ min: 0, max: 4_000_000_000_000_000 })
  .map((micros) => ({ ms: micros / 1_000, nanos: BigInt(micros) * 1_000n }));

const made = fc.record({
  ...{ spanId: hex(8), trace: fc.oneof(hex(16), parent), name: text, attributes },
  shape: fc.option(fc.record({ name: text, attributes }), { nil: undefined }),
  kind: fc.constantFrom(...Object.values(SPAN_KINDS)),
  ...{ from: time, to: time, hasFailed: fc.boolean() },
});

describe("writeSpan", () => {
  it("writes what the protocol reads", () => {
    fc.assert(
      fc.property(fc.array(made, { minLength: 1, maxLength: 4 }), (all) => {
        const spans = all.map(({ spanId, trace, name, kind, from, to, shape, ...more }) => {
          const span = new SpanRecord(spanId, trace, { name, kind, at: from.ms });
          if (shape !== undefined) span.shape = spanShape(shape.name, shape.attributes);
          for (const [key, one] of Object.entries(more.attributes)) span.set(key, one);
          span.hasFailed = more.hasFailed;
          span.endedAt = to.ms;
          return span;
        });
        const sent = send(spans);
        expect(sent).toHaveLength(all.length);
        for (const [at, { from, to, shape, trace, ...one }] of all.entries()) {
          const isRoot = typeof trace === "string";
          const { startNanos = 0n, endNanos = 0n, ...rest } = sent[at] ?? ({} as Partial<SentSpan>);
          expect(rest).toEqual({
            ...{ spanId: one.spanId, traceId: isRoot ? trace : trace.traceId, kind: one.kind },
            parentSpanId: isRoot ? "" : trace.spanId,
            traceState: isRoot ? "" : (trace.state ?? ""),
            ...{
              flags: isRoot ? 0x101 : trace.isRandom ? 0x303 : 0x301,
              status: one.hasFailed ? 2 : 0,
            },
            name: shape === undefined ? one.name : shape.name,
            attributes: { ...shape?.attributes, ...one.attributes },
          });
          expect(distance(startNanos, from.nanos)).toBeLessThan(1_000n);
          expect(distance(endNanos, to.nanos)).toBeLessThan(1_000n);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("has a parent of its own for one that is not another server's", () => {
    const outer = new SpanRecord("1".repeat(16), "a".repeat(32), {
      ...{ name: "QUERY", kind: SPAN_KINDS.server, at: 1 },
    });
    const inner = new SpanRecord("2".repeat(16), outer, {
      ...{ name: "handler", kind: SPAN_KINDS.internal, at: 1 },
    });
    expect(send([inner])).toMatchObject([
      { traceId: outer.traceId, parentSpanId: outer.spanId, flags: 0x101, kind: 1 },
    ]);
  });

  it("has the last value of an attribute that is set twice", () => {
    const span = new SpanRecord("1".repeat(16), "a".repeat(32), {
      ...{ name: "QUERY", kind: SPAN_KINDS.client, at: 1 },
    });
    span.set("error.type", "500");
    span.set("agtp.status", 500);
    span.set("error.type", "ECONNRESET");
    expect(send([span])[0]?.attributes).toEqual({
      "error.type": "ECONNRESET",
      "agtp.status": 500,
    });
  });
});

describe("spanShape", () => {
  it("holds no more memory than its octets: there is one for each status of each route", () => {
    const shape = spanShape("QUERY /parts/{part}", { "agtp.status": 200 });
    expect(shape.buffer.byteLength).toBe(shape.length);
  });
});

function distance(one: bigint, other: bigint): bigint {
  return one > other ? one - other : other - one;
}
