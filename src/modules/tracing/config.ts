/** `[tracing]`: traces of requests for an OpenTelemetry collector, and its address. */
import { withoutEndSlashes } from "../../base/url-text.ts";
import { VERSION } from "../../base/version.ts";
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { Taking } from "../../dispatch/module/shared-sections.ts";
import { readCertificates } from "../../endpoint/upstream-ca.ts";
import {
  credential,
  flag,
  map,
  optional,
  path,
  type Schema,
  table,
  text,
  webUrl,
  word,
} from "../../schema/section-field.ts";

/** `[tracing]`, with every default filled in. */
export interface TracingConfig {
  readonly enabled: boolean;
  readonly endpoint: string;
  /** The values are secrets. */
  readonly headers: Readonly<Record<string, string>>;
  /** An absolute path. */
  readonly ca?: string;
  /** From 0 to 1. */
  readonly sampleRatio: number;
  readonly metrics: boolean;
  readonly serviceName: string;
}

const ratio: Schema = {
  ...{ type: "number", default: 1, minimum: 0, maximum: 1 },
  description:
    "The part of the traces without a parent that is sampled; others follow their parent",
};

export const tracingSection: Schema = table("Traces for a collector of OpenTelemetry", {
  enabled: flag(false, "Whether requests are traced"),
  endpoint: {
    ...webUrl("OTLP over HTTP with protobuf: /v1/traces below it"),
    default: "http://127.0.0.1:4318",
  },
  headers: map(
    word("", "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", "the name of a header field", ""),
    credential(""),
    "Header fields that the collector wants; best taken from the environment",
  ),
  ca: optional(path("", "Certificates to trust there instead of the system's, in PEM")),
  sample_ratio: ratio,
  metrics: flag(false, "Whether the metrics that /metrics shows are sent as well, to /v1/metrics"),
  service_name: text("agtpd", "The name of the service in traces"),
});

/** Tells whether metrics are pushed too. */
export function pushesMetrics({ enabled, metrics }: TracingConfig): boolean {
  return enabled && metrics;
}

export interface TracingSections extends Taking<"server" | "limits"> {
  readonly tracing: TracingConfig;
}

export type TracingContext = ModuleContext<TracingSections>;

/** The resource attributes of the daemon. */
export function serviceResource({
  tracing,
  server,
}: Pick<TracingSections, "tracing" | "server">): Readonly<Record<string, string>> {
  return {
    "service.name": tracing.serviceName,
    "service.version": VERSION,
    "service.instance.id": server.serverId,
  };
}

const SEND_TIMEOUT_MS = 5_000;
/** The most requests at once. */
const AT_ONCE = 64;

/** The longest wait for the collector at the daemon's end. */
export const LAST_SENDING_MS = 2_000;

/** The address of a collector, in a form that can be passed to a thread. */
export interface CollectorAddress {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly timeoutMillis: number;
  readonly concurrencyLimit: number;
  /** PEM text to trust instead of the system's CAs. */
  readonly ca?: string;
}

/** The address for one signal. Throws if the certificate file cannot be read. */
export function collectorAddress(
  { endpoint, headers, ca }: TracingConfig,
  path: string,
): CollectorAddress {
  return {
    url: `${withoutEndSlashes(endpoint)}${path}`,
    headers: { ...headers },
    timeoutMillis: SEND_TIMEOUT_MS,
    concurrencyLimit: AT_ONCE,
    ...(ca === undefined ? {} : { ca: certificatesIn(ca) }),
  };
}

function certificatesIn(path: string): string {
  const { text, fault } = readCertificates("", path);
  if (fault !== undefined) throw new Error(fault);
  return text;
}
