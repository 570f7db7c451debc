/**
 * `agtp-openapi`: OpenAPI documents in and out. The exit code is 0 when it was done, 1 when the
 * document or the command is refused or `--strict` finds something to review, 2 when it could not
 * be asked.
 */
import type { Command } from "../shell/command.ts";
import { exportCommand } from "./export-command.ts";
import { importCommand } from "./import-command.ts";

const NOTES = `
Examples:
  agtp-openapi import petstore.yaml --output petstore
  agtp-openapi import internal.json --output billing --base-url https://billing.acme.example/v1
  agtp-openapi export --config petstore/agtp-server.toml -o petstore.openapi.json
  agtp-openapi export agtp://localhost

Exit codes: 0 done, 1 refused, or --strict and there is more to review than usual, 2 it could not be asked.`;

/** The program. */
export const openapiProgram: Command = {
  name: "agtp-openapi",
  description: "OpenAPI documents as AGTP endpoints, and AGTP endpoints as OpenAPI documents.",
  notes: NOTES,
  hasLongMessages: true,
  commands: [importCommand, exportCommand],
};
