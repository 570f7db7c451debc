/**
 * `agtpd state accept-loss`: goes on with a store that lacks records of which this node was told that
 * they are kept. The loss stays in the store, with its reason.
 */

import { relative } from "node:path";
import type { Config } from "../../app/config/config.ts";
import { CutEnds } from "../../state/postgres/cut-rows.ts";
import { openPostgres } from "../../state/postgres/open.ts";
import { findLostRecords } from "../../state/postgres/records.ts";
import {
  type AcknowledgedRecord,
  readAcknowledged,
  writeAcknowledged,
} from "../../state/records/acknowledged-records.ts";
import { acknowledgedPath } from "../../state/state-directory.ts";
import { type Command, CommandRefusal, command } from "../shell/command.ts";
import { printJson } from "../shell/findings.ts";
import { readConfig } from "../shell/read-config.ts";
import { CONFIG, withState } from "./state-deployment.ts";

/** Where the losses are, by the time at which they were accepted. */
const ACCEPTED_LOSSES = "accepted-losses";

/** Accepts, and says which records are lost. */
export const acceptLossCommand: Command = command({
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
      const records = lost.map(({ agentId, auditId }) => ({
        agent_id: agentId,
        audit_id: auditId,
      }));
      printJson({ lost: records }, terminal.out);
      return true;
    }
    for (const { agentId, auditId } of lost) {
      terminal.out.write(`lost: record ${auditId} of agent ${agentId}\n`);
    }
    terminal.out.write(lost.length === 0 ? "nothing is lost\n" : "the loss is accepted\n");
    return true;
  },
});

async function accept(config: Config, reason: string): Promise<readonly AcknowledgedRecord[]> {
  const { store: location, directory, file } = config;
  const { store, fault } = await openPostgres({ ...location, url: location.url ?? "" });
  if (store === undefined) {
    throw new CommandRefusal(`${relative(directory, file)}: store.${fault.key}: ${fault.message}`);
  }
  try {
    const path = acknowledgedPath(directory);
    const known = readAcknowledged(path);
    const { pool, name } = store;
    const lost = await findLostRecords(pool, name, known, new CutEnds(pool, name));
    if (lost.length === 0) return lost;
    const records = lost.map(({ agentId, auditId }) => ({ agent_id: agentId, audit_id: auditId }));
    const key = new Date().toISOString();
    const value = { reason, node: config.cluster.node ?? null, lost: records };
    await store.commit([{ kind: "put", collection: ACCEPTED_LOSSES, key, value }]);
    writeAcknowledged(
      path,
      known.filter((one) => !lost.includes(one)),
    );
    return lost;
  } finally {
    await store.close();
  }
}
