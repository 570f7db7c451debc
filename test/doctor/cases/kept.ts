/** State, disks, files and machines that something is wrong with. */
import { expect } from "vitest";
import { type Machine, thisMachine } from "../../../src/programs/doctor/machine.ts";
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
    title: "a database that is none",
    id: "state-file",
    site: { files: { ".agtp/state.db": "x".repeat(4096) } },
    found: { severity: "error", file: ".agtp/state.db", message: "is not a database" },
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
