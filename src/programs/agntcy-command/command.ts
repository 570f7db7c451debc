/**
 * `agtp-agntcy`: AGNTCY manifests in, OASF records out. The exit code is 0 when it was done, 1 when
 * the manifest is not valid or the agent is not there, 2 when it could not be asked.
 */
import type { Command } from "../shell/command.ts";
import { exportCommand } from "./export-command.ts";
import { validateCommand } from "./validate-command.ts";

const NOTES = `
Examples:
  agtp-agntcy validate agents/agntcy/mailcomposer.json
  agtp-agntcy validate manifest.json --dependencies --json
  agtp-agntcy export org.agntcy.mailcomposer -o mailcomposer.record.json

Exit codes: 0 done, 1 the manifest is not valid or there is no such agent, 2 it could not be asked.`;

/** The program. */
export const agntcyProgram: Command = {
  name: "agtp-agntcy",
  description: "Checks AGNTCY agent manifests, and writes OASF records of hosted agents.",
  notes: NOTES,
  hasLongMessages: true,
  commands: [validateCommand, exportCommand],
};
