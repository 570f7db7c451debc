/** Limits of a listener that no test reaches by accident. */
import type { LimitsConfig } from "../../src/wire/limits-section.ts";

export const LIMITS: LimitsConfig = {
  ...{ requestLineBytes: 8192, headerBytes: 65_536, headerCount: 128, bodyBytes: 65_536 },
  ...{ headerTimeoutMs: 10_000, bodyTimeoutMs: 10_000, idleTimeoutMs: 10_000 },
  ...{ handlerTimeoutMs: 10_000, drainTimeoutMs: 1_000, maxPipelined: 16 },
  ...{ requestsPerSecond: 0, workMsPerSecond: 0 },
  ...{ maxConnections: 100, maxConnectionsPerAddress: 100 },
  ...{ sendBufferBytes: 1_048_576, sendBufferTotalBytes: 4_194_304 },
};
