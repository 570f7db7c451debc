/** State, disks, files and machines that something is wrong with. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type Machine, thisMachine } from "../../../src/programs/doctor/machine.ts";
import type {
  DatabaseSurvey,
  SurveyedNode,
  TableSize,
} from "../../../src/state/postgres/survey.ts";
import { makeDirectory } from "../../support/directory.ts";
import { flipOctet, leaveCommits } from "../../support/killed-store.ts";
import { agent, type Case, DAY_MS, endpoint } from "./case.ts";

const LITTLE_JOURNAL = { ".agtp/journal/00000001.jws": "" };

/** As if each segment had so many octets. */
function grown(size: number): Machine["status"] {
  const real = thisMachine();
  return (path) => {
    const status = real.status(path);
    return status && path.endsWith(".jws") ? { ...status, size } : status;
  };
}

const MEBIBYTE = 1024 ** 2;

function table(name: string, mebibytes: number): TableSize {
  return { name, bytes: mebibytes * MEBIBYTE, rows: 1_000, deadRows: 0, vacuumedAt: undefined };
}

function node(name: string, silentMs: number, isLive: boolean): SurveyedNode {
  return { node: name, address: `${name}.example:4480`, version: "1.0.0", silentMs, isLive };
}

/** As if the database had answered so. */
function inDatabase(
  answered: Partial<DatabaseSurvey>,
  tables: Readonly<Record<string, object>> = {},
): Case["site"] {
  const survey: DatabaseSurvey = {
    ...{
      startFault: undefined,
      schema: "agtp",
      role: "agtpd",
      tables: [],
      unreadable: [],
      dueShare: undefined,
      heldUpMs: 0,
      nodes: [],
    },
    ...answered,
  };
  const url = "postgres://agtpd@db.example/agtpd?sslmode=verify-full";
  return {
    tables: { store: { driver: "postgres", url }, ...tables },
    machine: { surveyDatabase: () => Promise.resolve({ survey }) },
  };
}

export const keptCases: readonly Case[] = [
  {
    title: "records that nobody signs",
    id: "signing-key",
    site: { tables: { signing: {} } },
    found: { severity: "warning", key: "signing.key" },
  },
  {
    title: "no records at all",
    id: "signing-key",
    site: { tables: { attribution: { enabled: false } } },
    found: { severity: "warning", key: "attribution.enabled" },
  },
  {
    title: "state that ends with the process",
    id: "store",
    site: { tables: { store: { driver: "memory" } } },
    found: { severity: "warning", key: "store.driver" },
  },
  {
    title: "a database over which no daemon would start",
    id: "store",
    site: inDatabase({
      startFault: {
        ...{ key: "url", message: "the server is read-only, as a standby is" },
        hint: "name the primary: a standby takes no changes",
      },
    }),
    found: {
      ...{ severity: "error", key: "store.url" },
      message: "the server is read-only, as a standby is",
      remedy: "name the primary: a standby takes no changes",
    },
  },
  {
    title: "a database that is none",
    id: "state-file",
    site: { files: { ".agtp/state.db": "x".repeat(4096) } },
    found: { severity: "error", file: ".agtp/state.db", message: "is not a database" },
  },
  {
    title: "a database whose log lost a commit",
    id: "state-file",
    site: async () => {
      const path = join(makeDirectory(), "state.db");
      await leaveCommits(path, 12);
      flipOctet(`${path}-wal`, 32 + 5 * (24 + 4096));
      const files = { ".agtp/state.db": path, ".agtp/state.db-wal": `${path}-wal` };
      return {
        files: Object.fromEntries(
          Object.entries(files).map(([name, from]) => [name, readFileSync(from)]),
        ),
      };
    },
    found: {
      ...{ severity: "error", file: ".agtp/state.db" },
      remedy: "put back a copy of both; without one, agtp-keys repair goes on and records the loss",
    },
  },
  {
    title: "a journal without its database",
    id: "state-file",
    site: { files: { ".agtp/journal/00000001.jws": "" } },
    found: { severity: "error", file: ".agtp/state.db" },
  },
  {
    title: "a journal with something else in it",
    id: "journal",
    site: { files: { ".agtp/journal/00000001.jws": "no record\n" } },
    found: { severity: "error", file: ".agtp/journal/00000001.jws" },
  },
  {
    title: "a journal that nothing bounds",
    id: "journal-size",
    site: { files: LITTLE_JOURNAL, machine: { status: grown(2 * 1024 ** 3) } },
    found: { severity: "warning", message: "has 2048 MiB of records" },
  },
  {
    title: "a large journal within its bounds, and its archive",
    id: "journal-size",
    site: {
      files: { ...LITTLE_JOURNAL, "archive/00000000.jws": "" },
      tables: { attribution: { retention: { days: 30, archive: "archive" } } },
      machine: { status: grown(1024 ** 3) },
    },
    found: { severity: "note", message: "has 1024 MiB of records, and its archive 1024 MiB" },
  },
  {
    title: "a disk with little room",
    id: "disk-space",
    site: { machine: { space: () => ({ freeBytes: 500 * 1024 ** 2, freeFiles: 1_000_000 }) } },
    found: { severity: "warning", message: "the file system has 500 MiB left" },
  },
  {
    title: "a disk without room",
    id: "disk-space",
    site: { machine: { space: () => ({ freeBytes: 1024, freeFiles: undefined }) } },
    found: { severity: "error" },
  },
  {
    title: "a disk that can take hardly a file more",
    id: "disk-space",
    site: { machine: { space: () => ({ freeBytes: 1024 ** 4, freeFiles: 7 }) } },
    found: { severity: "error", message: "the file system has room for 7 more files" },
  },
  {
    title: "a large database that nothing bounds",
    id: "database-size",
    site: inDatabase({ tables: [table("records", 2048), table("changes", 64)], dueShare: 0.25 }),
    found: {
      severity: "warning",
      key: "store.url",
      message:
        "has 2112 MiB: records 2048 MiB (97 %, about 1000 rows), entries 0.0 MiB (0 %, about 0 rows), changes 64 MiB (3 %, about 1000 rows), everything else 0.0 MiB",
      remedy:
        "set days or bytes under [attribution.retention], or records stay for good; 30 days would take about 512 MiB of them now",
    },
  },
  {
    title: "a large database within bounds",
    id: "database-size",
    site: inDatabase(
      { tables: [table("records", 2048)], dueShare: 0.5 },
      { attribution: { retention: { days: 3 } } },
    ),
    found: {
      severity: "note",
      remedy:
        "nothing: [attribution.retention] bounds the records: about 1024 MiB of the records are due now",
    },
  },
  {
    title: "a table whose room is not given back",
    id: "database-size",
    site: inDatabase({ tables: [{ ...table("heads", 512), deadRows: 2_000_000 }] }),
    found: {
      severity: "warning",
      message:
        "table heads has about 1000 rows and 2000000 that are gone, whose room nothing can use (vacuumed: never)",
    },
  },
  {
    title: "a server on which somebody's transaction stays open",
    id: "database-size",
    site: inDatabase({ tables: [table("records", 1)], heldUpMs: 90_000 }),
    found: {
      severity: "warning",
      message:
        "a transaction that writes has been open on the server for 90 s or longer: retention cuts nothing, and a revocation takes a lease",
    },
  },
  {
    title: "a database that its role may not read",
    id: "database-size",
    site: inDatabase({ tables: [table("records", 1)], unreadable: ["records", "nodes"] }),
    found: {
      severity: "warning",
      message:
        "role agtpd may not read records, nodes: nodes, and what retention would free, are not looked at",
    },
  },
  {
    title: "a node that is silent",
    id: "nodes",
    site: inDatabase({ nodes: [node("a", 100, true), node("b", 90_000, false)] }),
    found: { severity: "warning", message: "node b at b.example:4480 was last heard of 90 s ago" },
  },
  {
    title: "nodes of two builds",
    id: "nodes",
    site: inDatabase({ nodes: [node("a", 1, true), { ...node("b", 1, true), version: "2.0.0" }] }),
    found: { severity: "note", message: "nodes of versions 1.0.0 and 2.0.0 serve side by side" },
  },
  {
    title: "handlers that everybody can write",
    id: "file-permissions",
    site: { files: endpoint(), modes: { "handlers.mjs": 0o666 } },
    found: { severity: "error", file: "handlers.mjs" },
  },
  {
    title: "a directory of endpoints that its group can write",
    id: "file-permissions",
    site: { files: endpoint(), modes: { endpoints: 0o775 } },
    found: { severity: "note", file: "endpoints" },
  },
  {
    title: "state that everybody can read",
    id: "file-permissions",
    site: {
      files: { ".agtp/journal/00000001.jws": "" },
      modes: { ".agtp/journal/00000001.jws": 0o644 },
    },
    found: { severity: "warning", file: ".agtp/journal/00000001.jws" },
  },
  {
    title: "a copy of the database that everybody can read",
    id: "file-permissions",
    site: { files: { ".agtp/state.db.bak": "" }, modes: { ".agtp/state.db.bak": 0o644 } },
    found: { severity: "warning", file: ".agtp/state.db.bak" },
  },
  {
    title: "a copy of a damaged segment that everybody can read",
    id: "file-permissions",
    site: {
      files: { ".agtp/journal/00000001.jws.damaged-2026": "" },
      modes: { ".agtp/journal/00000001.jws.damaged-2026": 0o644 },
    },
    found: { severity: "warning", file: ".agtp/journal/00000001.jws.damaged-2026" },
  },
  {
    title: "archived records that everybody can read",
    id: "file-permissions",
    site: {
      tables: { attribution: { retention: { days: 30, archive: "old" } } },
      files: { "old/00000001.jws": "" },
      modes: { "old/00000001.jws": 0o644 },
    },
    found: { severity: "warning", file: "old/00000001.jws" },
  },
  {
    title: "a state directory that everybody can write",
    id: "file-permissions",
    site: { files: { ".agtp/manifest.json": "{}" }, modes: { ".agtp": 0o777 } },
    found: { severity: "error", file: ".agtp" },
  },
  {
    title: "an endpoint that is a stranger's file",
    id: "ownership",
    site: { files: endpoint(), owners: { "endpoints/facts.toml": 4711 } },
    found: { severity: "warning", file: "endpoints/facts.toml" },
  },
  {
    title: "state of two users",
    id: "ownership",
    site: { owners: { ".agtp/keys": 4711 } },
    found: { severity: "error", file: ".agtp/keys" },
  },
  {
    title: "a clock that was never set",
    id: "clock",
    site: { machine: { now: 0 } },
    found: { severity: "error", file: "" },
  },
  {
    title: "state from the future",
    id: "clock",
    site: { machine: { now: Date.now() - 7 * DAY_MS } },
    found: { severity: "warning", message: expect.stringContaining("was written at") },
  },
  {
    title: "an agent from the future",
    id: "clock",
    site: { files: agent({ issued_at: new Date(Date.now() + DAY_MS).toISOString() }) },
    found: { severity: "warning", key: "issued_at" },
  },
  {
    title: "a runtime that is too old",
    id: "node-version",
    site: { machine: { nodeVersion: "v20.18.3" } },
    found: { severity: "error" },
  },
  {
    title: "a runtime that nobody mends any more",
    id: "node-version",
    site: { machine: { nodeVersion: "v20.20.2", now: Date.parse("2026-06-01") } },
    found: { severity: "note" },
  },
  {
    title: "a runtime without long-term support",
    id: "node-version",
    site: { machine: { nodeVersion: "v25.1.0" } },
    found: { severity: "note" },
  },
];
