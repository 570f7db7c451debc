/**
 * `agtpd state import`: imports an export into a deployment. The new state is built beside the
 * existing one, which is renamed once the new one takes its place.
 */

import { accessSync, constants, createReadStream, existsSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Config } from "../../app/config/config.ts";
import { syncPath } from "../../base/state-files.ts";
import { reasonOf } from "../../base/thrown.ts";
import { segmentsIn } from "../../state/journal/segment.ts";
import type { ImportReport } from "../../state/moving/import-lines.ts";
import { ImportRefusal, importPostgres } from "../../state/moving/import-postgres.ts";
import { importState } from "../../state/moving/import-state.ts";
import { StateFileError } from "../../state/moving/read-state-file.ts";
import { importingName } from "../../state/open-store.ts";
import { journalDirectory } from "../../state/state-directory.ts";
import { findStoreFault } from "../../state/store-fault.ts";
import { type Command, CommandRefusal, command, usage } from "../shell/command.ts";
import { printJson } from "../shell/print-json.ts";
import { readConfig } from "../shell/read-config.ts";
import { withPostgres, withState, withStore } from "../shell/with-state.ts";
import { CONFIG, checkDriver, summary } from "./export-command.ts";

/** Imports the state, and prints how much it was. */
export const importCommand: Command = command({
  name: "import",
  description: "Brings an export into a deployment that has no state, while no daemon runs.",
  args: { "<file>": "what agtpd state export has written" },
  options: {
    "--config <file>": CONFIG,
    "--replace": "set aside what is there: NAME.replaced-TIME",
    "--json": "print JSON",
  },
  run: async ({ file, config: path, replace = false, json = false }, terminal) => {
    const config = readConfig(path, terminal);
    if (config.store.driver !== "postgres") {
      checkDriver(config, "state is imported into sqlite or postgres");
    }
    const source = resolve(terminal.directory, file);
    checkReadable(source);
    const { report, setAside } = await withState(config, "agtpd state import", async () => {
      if (config.store.driver === "postgres") return importShared(source, config, replace);
      if (!replace) await checkEmpty(config);
      return importFrom(source, config);
    });
    const { entries, records, chains } = report;
    if (json) printJson({ entries, records, chains, set_aside: setAside }, terminal.out);
    else {
      terminal.out.write(`${summary(report)} from ${file}\n`);
      for (const kept of setAside) terminal.out.write(`what was there is kept as ${kept}\n`);
    }
    return true;
  },
});

async function checkEmpty(config: Config): Promise<void> {
  const isKept = existsSync(config.store.path);
  const used = isKept
    ? await withStore(config, async (store) => (await store.collections?.()) ?? [])
    : [];
  const journal = journalDirectory(config.directory);
  const segments = segmentsIn(journal);
  if (used.length === 0 && segments.length === 0) return;
  throw new CommandRefusal(
    "the deployment has a state already: --replace sets it aside and takes that of the file",
  );
}

function checkReadable(source: string): void {
  try {
    accessSync(source, constants.R_OK);
  } catch (error) {
    throw explained(error, source);
  }
}

/** The maximum length of a PostgreSQL name in octets. */
const MAX_SCHEMA = 63;

interface Imported {
  readonly report: ImportReport;
  readonly setAside: readonly string[];
}

async function importFrom(source: string, config: Config): Promise<Imported> {
  const journalPlace = journalDirectory(config.directory);
  // Built beside what they replace, because both may be on different disks.
  const [path, journal] = [importingName(config.store.path), importingName(journalPlace)];
  const clear = (): void => {
    for (const one of [path, `${path}-wal`, `${path}-shm`, journal]) {
      rmSync(one, { recursive: true, force: true });
    }
  };
  clear();
  try {
    const beside = { ...config, store: { ...config.store, path } };
    const report = await withStore(beside, (store) =>
      importState(octetsOf(source), {
        ...{ store, directory: journal },
        onHeader: ({ server_id }) => checkServer(server_id, config),
      }),
    );
    const suffix = `.replaced-${new Date().toISOString().replaceAll(":", "")}`;
    // The store is moved first: a start in between is refused, because its records are missing.
    const setAside = moveIn(
      [
        [path, config.store.path],
        [journal, journalPlace],
      ],
      suffix,
    );
    return { report, setAside };
  } catch (error) {
    throw explained(error, source);
  } finally {
    clear();
  }
}

/** Imports into PostgreSQL, all or nothing; an existing schema is renamed. */
async function importShared(source: string, config: Config, replaces: boolean): Promise<Imported> {
  const { schema } = config.store;
  const stamp = new Date().toISOString().replaceAll(/[-:.]/g, "").toLowerCase();
  const suffix = `_replaced_${stamp}`;
  const aside = replaces ? `${schema.slice(0, MAX_SCHEMA - suffix.length)}${suffix}` : undefined;
  try {
    return await withPostgres(config, async (store) => {
      const { isSetAside, ...report } = await importPostgres(octetsOf(source), {
        ...{ store, schema, aside },
        onHeader: ({ server_id }) => checkServer(server_id, config),
      });
      return { report, setAside: isSetAside && aside !== undefined ? [`schema ${aside}`] : [] };
    });
  } catch (error) {
    if (error instanceof ImportRefusal) throw new CommandRefusal(error.message);
    throw explained(error, source);
  }
}

/** Opens the file on the first read, so that the reader gets its errors. */
async function* octetsOf(source: string): AsyncGenerator<Buffer> {
  yield* createReadStream(source);
}

function checkServer(serverId: string, { server }: Config): void {
  if (serverId === server.serverId) return;
  throw new StateFileError(
    `is of server ${JSON.stringify(serverId)}, and server.server_id is ${JSON.stringify(server.serverId)}: records stay in the name in which they were made`,
  );
}

type Move = readonly [from: string, to: string];

/** Moves files and directories into place, all or none; existing ones are renamed. */
function moveIn(moves: readonly Move[], suffix: string): readonly string[] {
  const made: Move[] = [];
  const move = (...[from, to]: Move): void => {
    renameSync(from, to);
    made.push([from, to]);
  };
  const aside: string[] = [];
  try {
    for (const [from, to] of moves) {
      // After a crash part of the database is in its log files.
      for (const behind of ["", "-wal", "-shm", "-journal"]) {
        const kept = `${to}${suffix}${behind}`;
        if (!existsSync(`${to}${behind}`)) continue;
        move(`${to}${behind}`, kept);
        aside.push(kept);
      }
      move(from, to);
      syncPath(dirname(to));
    }
    return aside;
  } catch (error) {
    for (const [from, to] of made.toReversed()) renameSync(to, from);
    throw new CommandRefusal(
      `what was there is as it was, it cannot be replaced: ${reasonOf(error)}`,
    );
  }
}

/** Returns true for an error of a system call, which names its path if it has one. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "errno" in error;
}

function explained(error: unknown, source: string): unknown {
  if (error instanceof StateFileError) return new CommandRefusal(`${source} ${error.message}`);
  const fault = findStoreFault(error);
  if (fault !== undefined) return usage(`cannot import ${source}: ${fault.message}`);
  if (!isSystemError(error)) return error;
  // Reading a directory fails without a path: it can be opened, but not read.
  const isOfSource = error.path === source || error.code === "EISDIR";
  return usage(`cannot ${isOfSource ? "read" : "import"} ${source}: ${reasonOf(error)}`);
}
