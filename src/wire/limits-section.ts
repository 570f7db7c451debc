/** `[limits]`: bounds on the usage of a single client, or of all clients. */
import { count, milliseconds, type Schema, table } from "../schema/section-field.ts";

/** `[limits]` */
export interface LimitsConfig {
  readonly requestLineBytes: number;
  readonly headerBytes: number;
  readonly headerCount: number;
  readonly bodyBytes: number;
  readonly headerTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly handlerTimeoutMs: number;
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  readonly maxPipelined: number;
  readonly drainTimeoutMs: number;
  /** The rate limit; 0 for none. */
  readonly requestsPerSecond: number;
  /** The work limit; 0 for none. */
  readonly workMsPerSecond: number;
  readonly sendBufferBytes: number;
  readonly sendBufferTotalBytes: number;
}

const MAX_BYTES = 1024 ** 3;
const MAX_TOTAL_BYTES = 1024 ** 4;

export const limitsSection: Schema = table("Bounds on what one client, or all of them, may take", {
  request_line_bytes: count(8192, "Longest request line", MAX_BYTES),
  header_bytes: count(65_536, "Longest header section", MAX_BYTES),
  header_count: count(128, "Most header fields of a request", 65_536),
  body_bytes: count(1_048_576, "Longest request body", MAX_BYTES, 0),
  header_timeout_ms: milliseconds(
    10_000,
    "From the first byte of a request to the end of its headers",
  ),
  body_timeout_ms: milliseconds(30_000, "From the end of the headers to the end of the body"),
  idle_timeout_ms: milliseconds(60_000, "How long a connection without a request stays open"),
  handler_timeout_ms: milliseconds(30_000, "How long a handler may take"),
  max_connections: count(10_000, "Most open connections", 1_000_000),
  max_connections_per_address: count(
    1000,
    "Most open connections from one address; of IPv6, from one /64",
    1_000_000,
  ),
  max_pipelined: count(64, "Most requests of a connection in progress; further ones wait", 65_536),
  drain_timeout_ms: milliseconds(
    10_000,
    "How long a stopping server lets running requests finish",
    0,
  ),
  requests_per_second: count(
    0,
    "Requests of one agent, or of one address without an agent; 0: no limit",
    1_000_000,
    0,
  ),
  work_ms_per_second: count(
    200,
    "Time of the loop, in slices over a millisecond, of one agent or one address; 0: no limit",
    1000,
    0,
  ),
  send_buffer_bytes: count(
    16_777_216,
    "What may wait to be sent on one connection; beyond it nothing more is read from it",
    MAX_BYTES,
  ),
  send_buffer_total_bytes: count(
    268_435_456,
    "What may wait to be sent on all connections; beyond it the slowest readers are dropped",
    MAX_TOTAL_BYTES,
  ),
});
