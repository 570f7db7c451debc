/**
 * Everything that may stand in agtp-server.toml: one JSON Schema (2020-12) that gives each key its
 * form, its default and its meaning. Rules between keys are in the
 * `check-*.ts` files.
 */
import { agentSystemSections } from "./schema/agent-systems.ts";
import { delegationSections } from "./schema/delegation.ts";
import { optional, type Schema, table } from "./schema/field.ts";
import { operationSections } from "./schema/operations.ts";
import { policies } from "./schema/policies.ts";
import { serverSections } from "./schema/server.ts";

/** The schema of the whole file. */
export const configSchema: Schema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "agtp-server.toml",
  ...optional(
    table("The configuration of an AGTP server", {
      ...serverSections,
      policies,
      ...operationSections,
      ...delegationSections,
      ...agentSystemSections,
    }),
  ),
};
