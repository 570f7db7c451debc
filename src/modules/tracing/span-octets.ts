/** Spans in the wire format of OTLP, message by message.   OTLP 1.x */
import { ProtobufOctets } from "./protobuf-octets.ts";
import type { AttributeValue, SpanRecord } from "./span-record.ts";

/** Field numbers by message. */
const REQUEST = { resourceSpans: 1 } as const;
const RESOURCE_SPANS = { resource: 1, scopeSpans: 2 } as const;
const RESOURCE = { attributes: 1 } as const;
const SCOPE_SPANS = { scope: 1, spans: 2 } as const;
const SCOPE = { name: 1, version: 2 } as const;
const SPAN = {
  ...{ traceId: 1, spanId: 2, traceState: 3, parentSpanId: 4, name: 5, kind: 6 },
  ...{ startTime: 7, endTime: 8, attributes: 9, status: 15, flags: 16 },
} as const;
const STATUS = { code: 3 } as const;
const KEY_VALUE = { key: 1, value: 2 } as const;
const ANY_VALUE = { string: 1, int: 3, double: 4 } as const;

const FAILED = 2;
const FLAGS = {
  isSampled: 0x1,
  isRandom: 0x2,
  tellsOfParent: 0x100,
  isParentRemote: 0x200,
} as const;
const OWN_FLAGS = FLAGS.isSampled | FLAGS.tellsOfParent;

/** Writes an ended span as a member of its scope's spans. */
export function writeSpan(octets: ProtobufOctets, span: SpanRecord): void {
  const start = octets.begin(SCOPE_SPANS.spans);
  octets.hex(SPAN.traceId, span.traceId);
  octets.hex(SPAN.spanId, span.spanId);
  if (span.state !== undefined) octets.text(SPAN.traceState, span.state);
  if (span.parentId !== "") octets.hex(SPAN.parentSpanId, span.parentId);
  octets.number(SPAN.kind, span.kind);
  octets.time(SPAN.startTime, span.startedAt);
  octets.time(SPAN.endTime, span.endedAt);
  const { shape, attributes } = span;
  if (shape === undefined) octets.text(SPAN.name, span.name);
  else octets.fields(shape);
  for (let at = 0; at < attributes.length; at += 2) {
    writeAttribute(octets, SPAN.attributes, attributes[at] as string, attributes[at + 1] ?? "");
  }
  if (span.hasFailed) {
    const status = octets.begin(SPAN.status);
    octets.number(STATUS.code, FAILED);
    octets.end(status);
  }
  const ofParent = span.isParentRemote ? FLAGS.isParentRemote : 0;
  octets.word(SPAN.flags, OWN_FLAGS | ofParent | (span.isRandom ? FLAGS.isRandom : 0));
  octets.end(start);
}

/** Encodes a name and attributes that many spans share. */
export function spanShape(
  name: string,
  attributes: Readonly<Record<string, AttributeValue>>,
): Uint8Array {
  const octets = new ProtobufOctets();
  octets.text(SPAN.name, name);
  for (const [key, value] of Object.entries(attributes)) {
    writeAttribute(octets, SPAN.attributes, key, value);
  }
  // Copied, because the written octets are part of a much larger buffer.
  return Uint8Array.from(octets.written);
}

/** The sender's resource and scope. */
interface SpanSource {
  readonly resource: Readonly<Record<string, AttributeValue>>;
  readonly scope: { readonly name: string; readonly version: string };
}

/** Encodes a request from already encoded spans. */
export function traceRequest({ resource, scope }: SpanSource, spans: Uint8Array): Uint8Array {
  const octets = new ProtobufOctets(spans.length + HEAD_BYTES);
  const request = octets.begin(REQUEST.resourceSpans);
  const described = octets.begin(RESOURCE_SPANS.resource);
  for (const [key, value] of Object.entries(resource)) {
    writeAttribute(octets, RESOURCE.attributes, key, value);
  }
  octets.end(described);
  const scopeSpans = octets.begin(RESOURCE_SPANS.scopeSpans);
  const named = octets.begin(SCOPE_SPANS.scope);
  octets.text(SCOPE.name, scope.name);
  octets.text(SCOPE.version, scope.version);
  octets.end(named);
  octets.fields(spans);
  octets.end(scopeSpans);
  octets.end(request);
  return octets.written;
}

const HEAD_BYTES = 2_048;

function writeAttribute(
  octets: ProtobufOctets,
  field: number,
  key: string,
  value: AttributeValue,
): void {
  const attribute = octets.begin(field);
  octets.text(KEY_VALUE.key, key);
  const any = octets.begin(KEY_VALUE.value);
  if (typeof value === "string") octets.text(ANY_VALUE.string, value);
  else if (Number.isSafeInteger(value)) octets.signed(ANY_VALUE.int, value);
  else octets.double(ANY_VALUE.double, value);
  octets.end(any);
  octets.end(attribute);
}
