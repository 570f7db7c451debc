/** A collector of OpenTelemetry, which reads what is sent by the protocol's own definitions. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import protobuf from "protobufjs";

const definitions = protobuf.loadSync(join(import.meta.dirname, "otlp.proto"));
const METRICS = definitions.lookupType("otlp.ExportMetricsServiceRequest");
const TRACES = definitions.lookupType("otlp.ExportTraceServiceRequest");

/** A span as it was sent. */
export interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: it is a root. */
  readonly parentSpanId: string;
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
    readonly scopeSpans?: readonly { readonly spans?: readonly RawSpan[] }[];
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
  readonly name: string;
  readonly kind: number;
  readonly attributes?: readonly Attribute[];
  readonly status?: { readonly code?: number };
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
}

/** How it answers; 200 unless told, `undefined`: never. */
export async function openCollector(
  answer: () => number | undefined = () => 200,
): Promise<Collector> {
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
      const decoded = decode(body);
      for (const one of decoded.resourceSpans ?? []) {
        resource = attributesOf(one.resource?.attributes);
        for (const scope of one.scopeSpans ?? []) spans.push(...(scope.spans ?? []).map(spanOf));
      }
    }
    if (request.url === "/v1/metrics") {
      metrics.push(METRICS.toObject(METRICS.decode(body), { longs: Number, enums: Number }));
    }
    const status = answer();
    if (status === undefined) return;
    response.writeHead(status, { "content-type": "application/x-protobuf" });
    response.end(status === 200 ? undefined : "garbage");
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

function decode(body: Buffer): Decoded {
  const options = { bytes: String, longs: String } as const;
  return TRACES.toObject(TRACES.decode(body), options) as Decoded;
}

function spanOf(raw: RawSpan): SentSpan {
  const hex = (text: string | undefined): string =>
    Buffer.from(text ?? "", "base64").toString("hex");
  return {
    traceId: hex(raw.traceId),
    spanId: hex(raw.spanId),
    parentSpanId: hex(raw.parentSpanId),
    ...{ name: raw.name, kind: raw.kind, status: raw.status?.code ?? 0 },
    attributes: attributesOf(raw.attributes),
    startNanos: BigInt(raw.startTimeUnixNano),
    endNanos: BigInt(raw.endTimeUnixNano),
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
