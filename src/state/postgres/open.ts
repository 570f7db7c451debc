/** Opens the store in a PostgreSQL database; problems are reported at their configuration keys. */
import { randomUUID } from "node:crypto";
import { codeOf, reasonOf } from "../../base/thrown.ts";
import { exportPostgres } from "../moving/export-postgres.ts";
import type { StateNotice } from "../notice.ts";
import {
  type AcknowledgedOptions,
  type AcknowledgedRecord,
  AcknowledgedRecords,
  readAcknowledged,
} from "../records/acknowledged-records.ts";
import type { SharedRecords } from "../records/open-ledger.ts";
import type { OnStoreNotice } from "../store-health.ts";
import { CutEnds } from "./cut-rows.ts";
import { makePool, type PostgresLocation, quoteName, withClient } from "./driver.ts";
import { postgresFaultKind } from "./fault.ts";
import { PostgresNode } from "./node.ts";
import { type RecordCutStep, RecordRetention } from "./record-retention.ts";
import { findLostRecords, PostgresRecords, readHeads, readLatestEvents } from "./records.ts";
import { prepareSchema, type SchemaFault } from "./schema.ts";
import { PostgresStore } from "./store.ts";

/** An open store, or the problem. */
type PostgresOpening =
  | { readonly store: PostgresStore; readonly fault?: undefined }
  | { readonly store?: undefined; readonly fault: SchemaFault };

/** Connects, and migrates the schema to this build's version. */
export async function openPostgres(
  location: PostgresLocation,
  onNotice?: OnStoreNotice,
): Promise<PostgresOpening> {
  const { pool, fault } = makePool(location);
  if (pool === undefined) return { fault };
  let wrong: SchemaFault | undefined;
  try {
    wrong = await withClient(pool, (client) => prepareSchema(client, location.schema));
  } catch (error) {
    wrong = describeFault(error);
  }
  if (wrong === undefined) {
    return { store: new PostgresStore(pool, quoteName(location.schema), onNotice) };
  }
  await pool.end();
  return { fault: wrong };
}

/** This process as a node of a store. */
export interface NodeIdentity {
  readonly node: string;
  /** The address of this node, `host:port`. */
  readonly address: string;
  readonly version: string;
  readonly leaseMs: number;
  /** The file in which this node notes acknowledged records. */
  readonly acknowledgedPath: string;
  onNotice(notice: StateNotice): void;
  onFault(error: unknown): void;
  /** The segment size for retention in octets; default: 16 MiB. */
  readonly segmentBytes?: number;
  onCutStep?(step: RecordCutStep): void;
}

/** A registered node, with the shared records. */
interface OpenNode {
  readonly node: PostgresNode;
  readonly shared: SharedRecords;
  readonly acknowledged: AcknowledgedRecords;
}

/** The store lacks records that it acknowledged to this node. */
interface WentBack {
  readonly lost: readonly AcknowledgedRecord[];
}

/** Registers the node and reads the chain heads; returns the reason if that is impossible. */
export async function openNode(
  store: PostgresStore,
  identity: NodeIdentity,
): Promise<OpenNode | WentBack | string> {
  const { pool, name } = store;
  const { acknowledgedPath: path, onFault } = identity;
  const ends = new CutEnds(pool, name);
  const findLost: AcknowledgedOptions["findLost"] = (records) =>
    findLostRecords(pool, name, records, ends);
  const lost = await findLost(readAcknowledged(path));
  if (lost.length > 0) return { lost };
  const node = new PostgresNode({ store, process: randomUUID(), ...identity });
  const taken = await node.register();
  if (taken !== undefined) return taken;
  const acknowledged = new AcknowledgedRecords({
    ...{ path, findLost, onFault, onLoss: (record) => node.lose(record) },
  });
  const retained = new RecordRetention({
    ...{ pool, name, holders: node.holders, isFresh: () => node.isFresh },
    ...(identity.segmentBytes === undefined ? {} : { segmentBytes: identity.segmentBytes }),
    ...(identity.onCutStep && { onStep: identity.onCutStep }),
  });
  const records = new PostgresRecords({
    pool,
    name,
    ends,
    whereCut: (auditId) => retained.whereCut(auditId),
    checkLease: () => node.checkLease(),
    onKept: (record) => acknowledged.note(record),
    onUnavailable: (fault) => void store.health.failed(fault),
    onAppended: (kept, moved) => {
      store.counts.records += kept;
      store.counts.recordsAgain += moved;
      if (kept > 0) store.health.succeeded();
    },
    onLoss: (record) => {
      // Noted so that the next start detects the loss too.
      acknowledged.note(record);
      node.lose(record);
    },
  });
  const heads = await readHeads(pool, name);
  store.everywhere = (revision) => node.everywhere(revision);
  const latestEvents = () => readLatestEvents(pool, name);
  const events = await latestEvents();
  acknowledged.start();
  const exported = (serverId: string) => exportPostgres(store, serverId);
  return {
    node,
    shared: { records, heads, events, latestEvents, exported, retained },
    acknowledged,
  };
}

/** Error codes of OpenSSL for a chain without a known CA. */
const NO_DATABASE = "3D000";
const NO_PASSWORD = /client password must be a/;
const UNTRUSTED = /^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_|ERR_SSL_)/;

/** Describes why a database could not be queried, at a key of `[store]`. */
export function describeFault(error: unknown): SchemaFault {
  const reason = reasonOf(error) || codeOf(error);
  if (codeOf(error) === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const hint = "name the server in store.url as its certificate does";
    return { key: "url", message: `the server's certificate is another's: ${reason}`, hint };
  }
  if (UNTRUSTED.test(codeOf(error))) {
    const hint = "name the CA that signed it in store.ca";
    return { key: "ca", message: `the server's certificate is not trusted: ${reason}`, hint };
  }
  if (/does not support SSL/.test(reason)) {
    const hint = "switch TLS on there, or say sslmode=disable where nobody can listen";
    return { key: "url", message: "the server has no TLS, which the URL asks for", hint };
  }
  if (NO_PASSWORD.test(reason)) {
    const hint = "in the URL, in the variable PGPASSWORD, or in the file of PGPASSFILE";
    return { key: "url", message: "the server asks for a password, and there is none", hint };
  }
  if (codeOf(error) === NO_DATABASE) {
    return { key: "url", message: `the server has no such database: ${reason}` };
  }
  switch (postgresFaultKind(error)) {
    case "refused":
      return { key: "url", message: `the server refuses this role: ${reason}` };
    case "unreachable":
      return { key: "url", message: `the server cannot be reached: ${reason}` };
    default:
      return { key: "url", message: `the database cannot be used: ${reason}` };
  }
}
