/**
 * The store's knowledge of the journal: the head of each chain, and the position up to which the heads cover every
 * record. Both change together.   AGTP-IDENTIFIERS "Attribution Chain"
 */
import { isRecord } from "../../base/json-value.ts";
import { isSha256 } from "../../identity/identifiers.ts";
import type { JournalPosition, RecordPlace } from "../journal/journal.ts";
import { type Change, readAll, type Store, type StoredEntry } from "../store.ts";
import type { ChainHead } from "./record-store.ts";

/** The chain heads and the checkpoint in a store. */
export interface KnownChains {
  /** Undefined if the store knows of no journal. */
  readonly checkpoint: JournalPosition | undefined;
  readonly heads: ReadonlyMap<string, ChainHead>;
}

/** The collection of chain heads, by agent. */
export const CHAIN_HEADS = "chain-heads";
/** The collection of the position up to which the journal was read. */
export const CHAIN_CHECKPOINTS = "chain-checkpoints";
const JOURNAL = "journal";

/** Reads the known chains of a store. */
export async function readKnownChains(store: Store): Promise<KnownChains> {
  const heads: StoredEntry[] = [];
  for await (const entry of readAll(store, CHAIN_HEADS)) heads.push(entry);
  return knownChainsOf(heads, await store.list(CHAIN_CHECKPOINTS));
}

/** The collections that `knownChainsOf` reads. */
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

/** Returns the changes that store these heads and this position. */
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

/** Returns the changes that delete these chains' heads. */
export function forgottenHeads(agentIds: readonly string[]): readonly Change[] {
  return agentIds.map((key): Change => ({ kind: "delete", collection: CHAIN_HEADS, key }));
}

/** Reads a stored head; undefined if invalid. */
export function readHead(value: unknown): ChainHead | undefined {
  if (!isRecord(value)) return undefined;
  const { audit_id: auditId, at, method } = value;
  if (typeof auditId !== "string" || !isSha256(auditId)) return undefined;
  if (typeof at !== "number") return undefined;
  const place = readPlace(value);
  return { auditId, at, method: typeof method === "string" ? method : "", place };
}

/** Reads the place among a head's members; undefined if an earlier build stored it. */
export function readPlace(value: Readonly<Record<string, unknown>>): RecordPlace | undefined {
  const { length } = value;
  const position = readCheckpoint(value);
  return position && typeof length === "number" ? { ...position, length } : undefined;
}

/** Reads a stored checkpoint; undefined if invalid. */
export function readCheckpoint(value: unknown): JournalPosition | undefined {
  if (!isRecord(value)) return undefined;
  const { segment, offset } = value;
  return typeof segment === "number" && typeof offset === "number"
    ? { segment, offset }
    : undefined;
}
