/** `agtp-keys repair`: repairs the journal of a deployment, and reports the changes. */
import type { Config } from "../../app/config/config.ts";
import { describeDamage } from "../../state/journal/journal-damage.ts";
import { type RepairReport, repairJournal } from "../../state/journal/repair-journal.ts";
import { setDamagedLogAside } from "../../state/journal/set-aside.ts";
import { createRecordSigner, type RecordSigner } from "../../state/records/sealer.ts";
import { journalDirectory } from "../../state/state-directory.ts";
import { CommandRefusal } from "../shell/command.ts";
import { printJson } from "../shell/print-json.ts";
import { readConfig } from "../shell/read-config.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";
import { withState, withStore } from "../shell/with-state.ts";
import { readSigningKey } from "./key-files.ts";

interface RepairLine {
  readonly config: string;
  readonly reason?: string;
  readonly json?: boolean;
}

/** Repairs the journal of the deployment on the command line. */
export async function repairDeployment(
  { config: file, reason, json = false }: RepairLine,
  terminal: Terminal,
): Promise<true> {
  const config = readConfig(file, terminal);
  if (config.store.driver !== "sqlite") {
    throw new CommandRefusal(`store.driver is "${config.store.driver}": no journal is kept`);
  }
  const signer = signerOf(config, terminal);
  const report = await withState(config, "agtp-keys repair", () => repair(config, signer, reason));
  if (json) printJson(asDocument(report), terminal.out);
  else terminal.out.write(asText(report));
  return true;
}

function repair(
  config: Config,
  signer: RecordSigner,
  reason: string | undefined,
): Promise<RepairReport> {
  const { directory, server } = config;
  const now = Date.now();
  const ofStore = setDamagedLogAside(config.store.path, now);
  return withStore(config, (store) => {
    const journal = { store, directory: journalDirectory(directory) };
    const { serverId } = server;
    return repairJournal({ ...journal, signer, serverId, reason, now, ofStore });
  });
}

function signerOf({ signing: { key } }: Config, terminal: Terminal): RecordSigner {
  return createRecordSigner(key === undefined ? undefined : readSigningKey(key, terminal));
}

function asDocument({ damages, chains, setAside }: RepairReport): object {
  return {
    repaired: damages.length > 0,
    damages: damages.map((damage) => ({ file: damage.file, message: describeDamage(damage) })),
    chains: chains.map(({ agentId, lost, follows, auditId }) => ({
      agent_id: agentId,
      lost_records: lost,
      follows: follows ?? null,
      audit_id: auditId,
    })),
    set_aside: setAside,
  };
}

function asText({ damages, chains, setAside }: RepairReport): string {
  if (damages.length === 0) return "no damage of the journal is known; nothing was done\n";
  const lines = [
    ...damages.map((damage) => `${damage.file} ${describeDamage(damage)}`),
    ...setAside.map((copy) => `what was there is kept as ${copy}`),
    ...chains.map(({ agentId, follows, auditId }) => {
      const place = follows === undefined ? "begins anew" : `goes on behind record ${follows}`;
      return `the chain of agent ${agentId} ${place}; record ${auditId} says so`;
    }),
  ];
  return lines.map((line) => `${defuseLine(line)}\n`).join("");
}
