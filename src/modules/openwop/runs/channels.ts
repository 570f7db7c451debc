/**
 * Channels: values of a run that are written to again and again, each by its reducer. A channel is a
 * variable of the run; entries of lists carry the time at which they were written, by which those
 * that are too old are left out at the next write.   OpenWOP "channels-and-reducers"
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { WorkflowDefinition } from "../workflows/workflow.ts";

/** The reducer that joins a written value to the channel's own. */
export const REDUCERS = ["append", "replace", "merge", "counter", "votes", "feedback"] as const;

/** A way to put values of one channel together. */
type Reducer = (typeof REDUCERS)[number];

/** A write to a channel. */
export interface ChannelRule {
  readonly reducer: Reducer;
  /** 0: an entry does not age. */
  readonly ttlMs: number;
  readonly maxSize: number;
}

/** A year. */
export const MAX_TTL_MS = 31_536_000_000;
/** Entries of a list, where its node asks for no fewer. */
const DEFAULT_SIZE = 1000;

interface Entry {
  readonly value: unknown;
  /** Milliseconds since the epoch. */
  readonly _ts: number;
}

/** A rule, as the configuration of a node has it. */
export function readRule({ reducer, ttlMs, maxSize }: JsonRecord): ChannelRule {
  return {
    reducer: REDUCERS.find((one) => one === reducer) ?? "append",
    ttlMs: typeof ttlMs === "number" ? ttlMs : 0,
    maxSize: typeof maxSize === "number" ? maxSize : DEFAULT_SIZE,
  };
}

/** The content of a channel after a write; `at` is when it was written. */
export function written(before: unknown, value: unknown, at: number, rule: ChannelRule): unknown {
  switch (rule.reducer) {
    case "replace":
      return value;
    case "merge":
      return { ...(isRecord(before) ? before : {}), ...(isRecord(value) ? value : {}) };
    case "counter":
      return (typeof before === "number" ? before : 0) + Number(value);
    case "append":
    case "feedback":
      return grown(entriesOf(before), { value, _ts: at }, rule);
    case "votes": {
      const voter = voterOf(value);
      const others = entriesOf(before).filter((one) => voterOf(one.value) !== voter);
      return grown(others, { value, _ts: at }, rule);
    }
  }
}

/** The variables of a run after an event of a write. */
export function afterWrite(
  variables: JsonRecord,
  { channel, value, reducer, nodeId, writtenAt }: JsonRecord,
  { nodes }: WorkflowDefinition,
): JsonRecord {
  const name = String(channel);
  const config = nodes.find(({ id }) => id === nodeId)?.config ?? {};
  const rule = readRule({ ...config, reducer });
  const before = Object.hasOwn(variables, name) ? variables[name] : undefined;
  return { ...variables, [name]: written(before, value, Date.parse(String(writtenAt)), rule) };
}

function grown(
  before: readonly Entry[],
  entry: Entry,
  { ttlMs, maxSize }: ChannelRule,
): readonly Entry[] {
  const oldest = ttlMs > 0 ? entry._ts - ttlMs : Number.NEGATIVE_INFINITY;
  return [...before.filter(({ _ts }) => _ts >= oldest), entry].slice(-maxSize);
}

function entriesOf(value: unknown): readonly Entry[] {
  if (!Array.isArray(value)) return [];
  return value.filter((one) => isRecord(one) && typeof one["_ts"] === "number");
}

function voterOf(value: unknown): unknown {
  return isRecord(value) ? (value["voter"] ?? value["userId"]) : undefined;
}
