/** The options of `agtp-keys repair`, apart from what they are for, which is loaded when it is called. */
import type { Options } from "../shell/command.ts";

export const REPAIR_OPTIONS = {
  "--json": "print JSON",
  "--config <file>": { help: "configuration of the deployment", default: "agtp-server.toml" },
  "--reason <text>": "why the loss is accepted; stands in the records",
} as const;

/** The command line, as written. */
export type RepairLine = Options<typeof REPAIR_OPTIONS>;
