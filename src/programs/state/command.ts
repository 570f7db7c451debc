/**
 * `agtpd state`: exports the state of a deployment to a file, imports it, and accepts a store that
 * lacks records which this node knows were kept.
 */

import type { Config } from "../../app/config/config.ts";
import { CutEnds } from "../../state/postgres/cut-rows.ts";
import { findLostRecords } from "../../state/postgres/records.ts";
import {
  type AcknowledgedRecord,
  readAcknowledged,
  writeAcknowledged,
} from "../../state/records/acknowledged-records.ts";
import { acknowledgedPath } from "../../state/state-directory.ts";
import { type Command, CommandRefusal, command } from "../shell/command.ts";
import { printJson } from "../shell/print-json.ts";
import { readConfig } from "../shell/read-config.ts";
import { withPostgres, withState } from "../shell/with-state.ts";
import { CONFIG, exportCommand } from "./export-command.ts";
import { importCommand } from "./import-command.ts";

/** The store entries of accepted losses, keyed by time. */
const ACCEPTED_LOSSES = "accepted-losses";

/** Accepts the loss, and lists the lost records. */
const acceptLossCommand: Command = command({
  name: "accept-loss",
  description: "Goes on with a PostgreSQL that lacks acknowledged records, while no daemon runs.",
  options: {
    "--config <file>": CONFIG,
    "--reason <text>": "why; it is kept with what is lost",
    "--json": "print JSON",
  },
  run: async ({ config: path, reason = "", json = false }, terminal) => {
    const config = readConfig(path, terminal);
    if (config.store.driver !== "postgres") {
      const way = "a loss of the journal is accepted by agtp-keys repair";
      throw new CommandRefusal(`${way}, and store.driver is "${config.store.driver}"`);
    }
    const lost = await withState(config, "agtpd state accept-loss", () => accept(config, reason));
    if (json) {
      printJson({ lost: lost.map(asJson) }, terminal.out);
      return true;
    }
    for (const { agentId, auditId } of lost) {
      terminal.out.write(`lost: record ${auditId} of agent ${agentId}\n`);
    }
    terminal.out.write(lost.length === 0 ? "nothing is lost\n" : "the loss is accepted\n");
    return true;
  },
});

function accept(config: Config, reason: string): Promise<readonly AcknowledgedRecord[]> {
  return withPostgres(config, async (store) => {
    const path = acknowledgedPath(config.directory);
    const known = readAcknowledged(path);
    const { pool, name } = store;
    const lost = await findLostRecords(pool, name, known, new CutEnds(pool, name));
    if (lost.length === 0) return lost;
    const key = new Date().toISOString();
    const value = { reason, node: config.cluster.node ?? null, lost: lost.map(asJson) };
    await store.commit([{ kind: "put", collection: ACCEPTED_LOSSES, key, value }]);
    writeAcknowledged(
      path,
      known.filter((one) => !lost.includes(one)),
    );
    return lost;
  });
}

function asJson({ agentId, auditId }: AcknowledgedRecord): object {
  return { agent_id: agentId, audit_id: auditId };
}

const NOTES = `
Examples:
  agtpd state export shop-2026-11-23.ndjson              beside a daemon that runs, or without one
  agtpd state import shop-2026-11-23.ndjson              into a deployment that has no state yet
  agtpd state import shop-2026-11-23.ndjson --replace    what is there is set aside
  agtpd state accept-loss --reason "failover to b"       goes on with a PostgreSQL that went back

The file holds secrets of the deployment and what its agents did: it is its owner's alone (0600).
Keys, certificates, configuration and endpoints are not in it.

Exit codes: 0 done, 1 refused, and nothing changed; 2 the command line is wrong, or a file cannot be read or written.`;

/** The program. */
export function stateCommand(): Command {
  return {
    name: "agtpd state",
    description: "Moves what a deployment keeps to a file, and back.",
    notes: NOTES,
    hasLongMessages: true,
    commands: [exportCommand, importCommand, acceptLossCommand],
  };
}
