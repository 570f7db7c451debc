/**
 * The store's knowledge of the journal: where each chain ends, and the position up to which these
 * heads cover every record. Both change together.   AGTP-IDENTIFIERS "Attribution Chain"
 */
import { isRecord } from "../../base/json-value.ts";
import { isSha256 } from "../../identity/identifiers.ts";
import type { JournalPosition, RecordPlace } from "../journal/journal.ts";
import { type Change, readAll, type Store, type StoredEntry } from "../store.ts";
import type { ChainHead } from "./record-store.ts";

/** The heads and the checkpoint of a store. */
export interface KnownChains {
  /** Undefined: the store knows of no journal. */
  readonly checkpoint: JournalPosition | undefined;
  readonly heads: ReadonlyMap<string, ChainHead>;
}

/** Where each chain ends, by agent. */
export const CHAIN_HEADS = "chain-heads";
/** Up to where the journal was taken in. */
export const CHAIN_CHECKPOINTS = "chain-checkpoints";
const JOURNAL = "journal";

/** Reads what a store knows. */
export async function readKnownChains(store: Store): Promise<KnownChains> {
  const heads: StoredEntry[] = [];
  for await (const entry of readAll(store, CHAIN_HEADS)) heads.push(entry);
  return knownChainsOf(heads, await store.list(CHAIN_CHECKPOINTS));
}

/** The collections that hold what is known, as `knownChainsOf` takes them. */
export const KNOWN_CHAINS: readonly string[] = [CHAIN_HEADS, CHAIN_CHECKPOINTS];

/** Reads the known chains from the entries of both collections. */
export function knownChainsOf(
  entries: readonly Pick<StoredEntry, "key" | "value">[] = [],
  checkpoints: readonly Pick<StoredEntry, "key" | "value">[] = [],
): KnownChains {
  const heads = new Map<string, ChainHead>();
  for (const { key, value } of entries) {
    const head = readHead(value);
    if (head !== undefined) heads.set(key, head);
  }
  const checkpoint = readCheckpoint(checkpoints.find(({ key }) => key === JOURNAL)?.value);
  return { checkpoint, heads };
}

/** The changes by which a store knows these heads, and this position. */
export function knownChainChanges(
  heads: ReadonlyMap<string, ChainHead>,
  { segment, offset }: JournalPosition,
): readonly Change[] {
  const changes = [...heads].map(([key, { auditId, at, method, place }]): Change => {
    const value = { audit_id: auditId, at, method, ...place };
    return { kind: "put", collection: CHAIN_HEADS, key, value };
  });
  const value = { segment, offset };
  return [...changes, { kind: "put", collection: CHAIN_CHECKPOINTS, key: JOURNAL, value }];
}

/** The changes by which a store knows nothing of these chains any more. */
export function forgottenHeads(agentIds: readonly string[]): readonly Change[] {
  return agentIds.map((key): Change => ({ kind: "delete", collection: CHAIN_HEADS, key }));
}

/** The head of a stored value; undefined for what is none. */
export function readHead(value: unknown): ChainHead | undefined {
  if (!isRecord(value)) return undefined;
  const { audit_id: auditId, at, method } = value;
  if (typeof auditId !== "string" || !isSha256(auditId)) return undefined;
  if (typeof at !== "number") return undefined;
  const place = readPlace(value);
  return { auditId, at, method: typeof method === "string" ? method : "", place };
}

/** The place among such members; undefined in the store of an earlier build. */
export function readPlace(value: Readonly<Record<string, unknown>>): RecordPlace | undefined {
  const { length } = value;
  const position = readCheckpoint(value);
  return position && typeof length === "number" ? { ...position, length } : undefined;
}

/** The position of a stored checkpoint; undefined for what is none. */
export function readCheckpoint(value: unknown): JournalPosition | undefined {
  if (!isRecord(value)) return undefined;
  const { segment, offset } = value;
  return typeof segment === "number" && typeof offset === "number"
    ? { segment, offset }
    : undefined;
}
