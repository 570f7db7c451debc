/** `agtpd state`: moves what a deployment keeps out to a file, and in again. */
import type { Command } from "../shell/command.ts";
import { acceptLossCommand } from "./accept-loss-command.ts";
import { exportCommand } from "./export-command.ts";
import { importCommand } from "./import-command.ts";

const NOTES = `
Examples:
  agtpd state export shop-2026-11-23.ndjson              beside a daemon that runs, or without one
  agtpd state import shop-2026-11-23.ndjson              into a deployment that has no state yet
  agtpd state import shop-2026-11-23.ndjson --replace    what is there is set aside
  agtpd state accept-loss --reason "failover to b"       goes on with a PostgreSQL that went back

The file holds secrets of the deployment and what its agents did: it is its owner's alone (0600).
Keys, certificates, configuration and endpoints are not in it.

Exit codes: 0 done, 1 refused, and nothing changed; 2 the command line is wrong.`;

/** The program. */
export function stateCommand(): Command {
  return {
    name: "agtpd state",
    description: "Moves what a deployment keeps to a file, and back.",
    notes: NOTES,
    commands: [exportCommand, importCommand, acceptLossCommand],
  };
}
