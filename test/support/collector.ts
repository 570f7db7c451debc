/** A collector of OpenTelemetry, which reads what is sent by the protocol's own definitions. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import protobuf from "protobufjs";

const definitions = protobuf.loadSync(join(import.meta.dirname, "otlp.proto"));
const METRICS = definitions.lookupType("otlp.ExportMetricsServiceRequest");
const TRACES = definitions.lookupType("otlp.ExportTraceServiceRequest");
const ANSWER = definitions.lookupType("otlp.ExportTraceServiceResponse");

/** A span as it was sent. */
export interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: it is a root. */
  readonly parentSpanId: string;
  /** Empty: it has none. */
  readonly traceState: string;
  readonly flags: number;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** 2: it failed. */
  readonly status: number;
  readonly startNanos: bigint;
  readonly endNanos: bigint;
}

/** It listens until it is closed. */
export interface Collector {
  readonly endpoint: string;
  readonly spans: readonly SentSpan[];
  readonly resource: Readonly<Record<string, unknown>>;
  readonly headers: readonly IncomingHttpHeaders[];
  /** Requests with metrics, as they are. */
  readonly metrics: readonly object[];
  /** Octets of all requests, as text: what must not be there is looked for in it. */
  readonly octets: string;
  close(): Promise<void>;
}

interface Decoded {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly Attribute[] };
    readonly scopeSpans?: readonly {
      readonly scope?: Readonly<Record<string, unknown>>;
      readonly spans?: readonly RawSpan[];
    }[];
  }[];
}

interface Attribute {
  readonly key: string;
  readonly value?: Readonly<Record<string, unknown>>;
}

interface RawSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly flags?: number;
  readonly name?: string;
  readonly kind: number;
  readonly attributes?: readonly Attribute[];
  readonly status?: { readonly code?: number };
  readonly startTimeUnixNano?: string;
  readonly endTimeUnixNano?: string;
}

/** A status, a 200 that says what was rejected, or `undefined`: no answer at all. */
type Answer = number | { readonly rejectedSpans: number } | undefined;

/** How it answers; 200 unless told. */
export async function openCollector(answer: () => Answer = () => 200): Promise<Collector> {
  const spans: SentSpan[] = [];
  const headers: IncomingHttpHeaders[] = [];
  let resource: Readonly<Record<string, unknown>> = {};
  const metrics: object[] = [];
  let octets = "";
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    octets += body.toString("latin1");
    headers.push(request.headers);
    if (request.url === "/v1/traces") {
      for (const sent of readTraces(body)) {
        resource = sent.resource;
        spans.push(...sent.spans);
      }
    }
    if (request.url === "/v1/metrics") {
      metrics.push(METRICS.toObject(METRICS.decode(body), { longs: Number, enums: Number }));
    }
    const told = answer();
    if (told === undefined) return;
    const status = typeof told === "number" ? told : 200;
    response.writeHead(status, { "content-type": "application/x-protobuf" });
    if (typeof told === "number") return void response.end(status === 200 ? undefined : "garbage");
    const partialSuccess = { ...told, errorMessage: "too old" };
    response.end(ANSWER.encode(ANSWER.create({ partialSuccess })).finish());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    ...{ spans, headers, metrics },
    get resource() {
      return resource;
    },
    get octets() {
      return octets;
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

/** Spans, and who has sent them. */
interface SentSpans {
  readonly resource: Readonly<Record<string, unknown>>;
  readonly scope: Readonly<Record<string, unknown>>;
  readonly spans: readonly SentSpan[];
}

/** Reads a request with traces by the protocol's definitions. Throws for octets that are none. */
export function readTraces(body: Uint8Array): readonly SentSpans[] {
  const options = { bytes: String, longs: String } as const;
  const { resourceSpans = [] } = TRACES.toObject(TRACES.decode(body), options) as Decoded;
  return resourceSpans.flatMap(({ resource, scopeSpans = [] }) =>
    scopeSpans.map(({ scope = {}, spans = [] }) => ({
      ...{ resource: attributesOf(resource?.attributes), scope },
      spans: spans.map(spanOf),
    })),
  );
}

function spanOf(raw: RawSpan): SentSpan {
  const hex = (text: string | undefined): string =>
    Buffer.from(text ?? "", "base64").toString("hex");
  return {
    traceId: hex(raw.traceId),
    spanId: hex(raw.spanId),
    parentSpanId: hex(raw.parentSpanId),
    ...{ traceState: raw.traceState ?? "", flags: raw.flags ?? 0 },
    ...{ name: raw.name ?? "", kind: raw.kind, status: raw.status?.code ?? 0 },
    attributes: attributesOf(raw.attributes),
    startNanos: BigInt(raw.startTimeUnixNano ?? 0),
    endNanos: BigInt(raw.endTimeUnixNano ?? 0),
  };
}

function attributesOf(attributes: readonly Attribute[] = []): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    attributes.map(({ key, value = {} }) => {
      const [[kind, text] = ["", undefined]] = Object.entries(value);
      return [key, kind === "intValue" ? Number(text) : text];
    }),
  );
}
