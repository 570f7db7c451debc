/** `agtpd state export`: writes the state of a deployment to a file, and validates it like an import. */

import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { Readable } from "node:stream";
import type { Config } from "../../app/config/config.ts";
import { isRecord } from "../../base/json-value.ts";
import { syncPath } from "../../base/state-files.ts";
import { codeOf, reasonOf } from "../../base/thrown.ts";
import { openControlLines } from "../../client/ask-control.ts";
import { compareJournal } from "../../state/journal/journal-comparison.ts";
import { describeDamage } from "../../state/journal/journal-damage.ts";
import { exportPostgres } from "../../state/moving/export-postgres.ts";
import { exportState, journalSource } from "../../state/moving/export-state.ts";
import {
  type ReadLine,
  readStateFile,
  StateFileError,
} from "../../state/moving/read-state-file.ts";
import { readKnownChains } from "../../state/records/known-chains.ts";
import { controlPath, journalDirectory } from "../../state/state-directory.ts";
import { findStoreFault } from "../../state/store-fault.ts";
import { type Command, CommandRefusal, command, usage } from "../shell/command.ts";
import { printJson } from "../shell/print-json.ts";
import { findReadFault, readConfig } from "../shell/read-config.ts";
import { withPostgres, withState, withStore } from "../shell/with-state.ts";

/** The option that selects the deployment. */
export const CONFIG = {
  help: "configuration file of the deployment",
  default: "agtp-server.toml",
} as const;

type Totals = Extract<ReadLine, { readonly kind: "end" }>;

/** Exports the state, and prints how much it was. */
export const exportCommand: Command = command({
  name: "export",
  description: "Writes entries, chains and records to a new file, beside a daemon or without one.",
  args: { "<file>": "the file to write; never one that is there" },
  options: { "--config <file>": CONFIG, "--json": "print JSON" },
  run: async ({ file, config: path, json = false }, terminal) => {
    const target = resolve(terminal.directory, file);
    const configFile = resolve(terminal.directory, path);
    if (findReadFault(configFile) !== undefined) readConfig(path, terminal);
    const directory = dirname(configFile);
    // Read only if needed: the shell may lack variables that the daemon has.
    const readLate = (): Config => readConfig(path, terminal);
    const { entries, records, chains } = await exportTo(target, directory, readLate);
    if (json) printJson({ file: target, entries, records, chains }, terminal.out);
    else terminal.out.write(`${summary({ entries, records, chains })} in ${file}\n`);
    return true;
  },
});

/** Summarises the content of a file for people. */
export function summary({ entries, records, chains }: Omit<Totals, "kind">): string {
  const counted = (count: number, one: string, many: string): string =>
    `${count} ${count === 1 ? one : many}`;
  const recorded = counted(records, "record", "records");
  return `${counted(entries, "entry", "entries")}, ${recorded} in ${counted(chains, "chain", "chains")}`;
}

/** Writes the export of the directory's daemon; if none runs, reads the configured store. */
async function exportTo(
  target: string,
  directory: string,
  configOf: () => Config,
): Promise<Totals> {
  const part = `${target}.${randomUUID()}.part`;
  const clear = (): void => rmSync(part, { force: true });
  const onSignal = (signal: NodeJS.Signals): void => {
    clear();
    process.kill(process.pid, signal);
  };
  for (const signal of INTERRUPTIONS) process.once(signal, onSignal);
  try {
    const file = openPart(target, part);
    try {
      const totals = await fill({ target, file }, directory, configOf);
      written(target, () => {
        fsyncSync(file);
        nameNew(part, target);
        syncPath(dirname(target));
      });
      return totals;
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (error instanceof StateFileError) throw new CommandRefusal(`the export ${error.message}`);
    const fault = findStoreFault(error);
    throw fault === undefined ? error : usage(fault.message);
  } finally {
    for (const signal of INTERRUPTIONS) process.off(signal, onSignal);
    clear();
  }
}

async function fill(out: ExportFile, directory: string, configOf: () => Config): Promise<Totals> {
  const octets = await askDaemon(directory);
  return octets === undefined ? exportOffline(configOf(), out) : write(octets, out);
}

const INTERRUPTIONS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The open file of an export, and its final path. */
interface ExportFile {
  readonly target: string;
  readonly file: number;
}

/** Runs a write, and explains a full disk or an existing file. */
function written<T>(target: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw taken(target);
    throw usage(`cannot write ${target}: ${reasonOf(error)}`);
  }
}

/** An existing file is never overwritten: it may be the only copy. */
function taken(target: string): CommandRefusal {
  return new CommandRefusal(`cannot write ${target}: it is there already`);
}

function openPart(target: string, part: string): number {
  // Checked before the export, which may take long.
  if (existsSync(target)) throw taken(target);
  return written(target, () => openSync(part, "wx", 0o600));
}

function nameNew(part: string, target: string): void {
  try {
    linkSync(part, target);
  } catch (error) {
    if (!WITHOUT_LINKS.includes(codeOf(error))) throw error;
    closeSync(openSync(target, "wx", 0o600));
    renameSync(part, target);
  }
}

/** Error codes of file systems without hard links. */
const WITHOUT_LINKS: readonly unknown[] = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"];

/** The lines of the running daemon's export; undefined if no daemon runs. */
async function askDaemon(directory: string): Promise<AsyncIterable<Buffer> | undefined> {
  try {
    const { answer, rest } = await openControlLines(
      controlPath(directory),
      JSON.stringify({ command: "export" }),
    );
    const said: unknown = JSON.parse(answer);
    if (isRecord(said) && said["ok"] === true) return rest;
    throw new CommandRefusal(`the daemon refuses: ${isRecord(said) ? said["message"] : answer}`);
  } catch (error) {
    if (["ENOENT", "ECONNREFUSED"].includes(codeOf(error))) return undefined;
    if (error instanceof CommandRefusal) throw error;
    throw new CommandRefusal(`the daemon cannot be asked: ${reasonOf(error)}`);
  }
}

async function exportOffline(config: Config, file: ExportFile): Promise<Totals> {
  const { serverId } = config.server;
  if (config.store.driver === "postgres") {
    return withPostgres(config, (store) =>
      write(Readable.from(exportPostgres(store, serverId), { objectMode: false }), file),
    );
  }
  checkDriver(config, "no daemon runs, and what is in memory ends with it");
  return withState(config, "agtpd state export", () =>
    withStore(config, async (store) => {
      const journal = journalDirectory(config.directory);
      const { damages } = await compareJournal(journal, await readKnownChains(store));
      const [damage] = damages;
      if (damage !== undefined) {
        throw new CommandRefusal(`${damage.file} ${describeDamage(damage)}`);
      }
      const records = journalSource(journal, () => undefined);
      const lines = exportState({ serverId, store, records });
      return write(Readable.from(lines, { objectMode: false }), file);
    }),
  );
}

/** Writes the octets, and validates them on the way. */
async function write(
  octets: AsyncIterable<Buffer | string>,
  { target, file }: ExportFile,
): Promise<Totals> {
  async function* passing(): AsyncGenerator<Buffer> {
    for await (const chunk of octets) {
      const buffer = Buffer.from(chunk);
      for (let at = 0; at < buffer.length; ) {
        at += written(target, () => writeSync(file, buffer, at));
      }
      yield buffer;
    }
  }
  let totals: Totals | undefined;
  for await (const one of readStateFile(passing())) if (one.kind === "end") totals = one;
  if (totals === undefined) throw new StateFileError("is empty");
  return totals;
}

/** Requires SQLite, the only local store with a state when no daemon runs. */
export function checkDriver({ store }: Config, what: string): void {
  if (store.driver === "sqlite") return;
  throw new CommandRefusal(`${what}, and store.driver is "${store.driver}"`);
}
