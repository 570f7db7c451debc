/** Nodes of a database in this process, whose records are cut off. */
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { importState } from "../../src/state/moving/import-state.ts";
import type { StateNotice } from "../../src/state/notice.ts";
import { type NodeIdentity, openNode, openPostgres } from "../../src/state/postgres/open.ts";
import type { PostgresStore } from "../../src/state/postgres/store.ts";
import { Attributor } from "../../src/state/records/ledger.ts";
import { createSealer, type RecordSigner } from "../../src/state/records/sealer.ts";
import { openState, type ServerState } from "../../src/state/state.ts";
import { makeDirectory } from "./directory.ts";
import { makeFacts } from "./state.ts";
import { openTestStore } from "./store.ts";

/** A node, and what it told of. */
export interface RecordNode {
  readonly state: ServerState;
  readonly store: PostgresStore;
  readonly notices: readonly StateNotice[];
  readonly faults: readonly unknown[];
  /** Keeps records of an agent; their Audit-IDs. */
  grow(agentId: string, count: number): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** The choices of a test. */
interface RecordNodeOptions {
  readonly url: string;
  readonly node: string;
  readonly signer: RecordSigner;
  readonly directory?: string;
  readonly now?: () => number;
  readonly leaseMs?: number;
}

/** Opens a node; its segments have 4,000 octets. */
export async function openRecordNode(options: RecordNodeOptions): Promise<RecordNode> {
  const { url, node: name, signer, directory = makeDirectory(), leaseMs = 800, now } = options;
  const opened = await openPostgres({ url, schema: "agtp" });
  if (opened.store === undefined) throw new Error(opened.fault.message);
  const { store } = opened;
  const notices: StateNotice[] = [];
  const faults: unknown[] = [];
  const identity: NodeIdentity = {
    ...{ node: name, address: "127.0.0.1:4480", version: "0", leaseMs, segmentBytes: 4_000 },
    acknowledgedPath: join(directory, "acknowledged.json"),
    onNotice: (notice) => void notices.push(notice),
    onFault: (error) => void faults.push(error),
  };
  const found = await openNode(store, identity);
  if (typeof found === "string" || "lost" in found) {
    await store.close();
    throw new Error(typeof found === "string" ? found : "records are lost");
  }
  const { node, shared, acknowledged } = found;
  const { onNotice, onFault } = identity;
  const state = await openState({
    ...{ store, journalDirectory: undefined, shared, view: node, onNotice, onFault },
    ...(now && { now }),
  });
  await node.start();
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    await acknowledged.close();
    await state.retention?.close();
    await node.close();
    await state.close();
  };
  onTestFinished(close);
  const { ledger } = state;
  const sealer = createSealer(signer);
  const attributor = new Attributor({ serverId: "agents.example", sealer, ledger });
  const grow: RecordNode["grow"] = async (agentId, count) => {
    const drafts = Array.from({ length: count }, () => attributor.chained(makeFacts(agentId)));
    await ledger.settled();
    return drafts.map(({ auditId }) => auditId);
  };
  return { state, store, notices, faults, grow, close };
}

/** Exports what a database has and imports it into files; the directory of their journal. */
export async function moveToFiles(lines: AsyncIterable<string>): Promise<string> {
  const root = makeDirectory();
  const store = await openTestStore("sqlite", join(root, "state.db"));
  const directory = join(root, "journal");
  async function* octets(): AsyncGenerator<Buffer> {
    for await (const line of lines) yield Buffer.from(line);
  }
  await importState(octets(), { store, directory, onHeader: () => undefined });
  await store.close();
  return directory;
}
