/** How the collector is reached. */
import { readFileSync } from "node:fs";
import type { TracingConfig } from "./config.ts";

const SEND_TIMEOUT_MS = 5_000;
/** More are never on their way at once. */
const AT_ONCE = 64;

/** A daemon that ends waits no longer than this for its collector. */
export const LAST_SENDING_MS = 2_000;

/** The part of the exporters' options that is used. */
export interface CollectorAddress {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly timeoutMillis: number;
  readonly concurrencyLimit: number;
  readonly httpAgentOptions?: { readonly ca: string };
}

/** The options of an exporter. Throws where the file of certificates cannot be read. */
export function collectorAddress(
  { endpoint, headers, ca }: TracingConfig,
  path: string,
): CollectorAddress {
  return {
    url: `${endpoint.replace(/\/+$/, "")}${path}`,
    headers: { ...headers },
    timeoutMillis: SEND_TIMEOUT_MS,
    concurrencyLimit: AT_ONCE,
    ...(ca === undefined ? {} : { httpAgentOptions: { ca: readFileSync(ca, "utf8") } }),
  };
}
