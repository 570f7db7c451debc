/** `[agentcli]`: workflows whose tasks become endpoints. */
import {
  choice,
  list,
  optional,
  path,
  type Schema,
  table,
  text,
  word,
} from "../../schema/section-field.ts";

const LEVELS = ["untrusted", "restricted", "supervised", "autonomous"];
const trustLevel = (tier: number) =>
  optional(choice("untrusted", LEVELS, `agentcli level of callers of tier ${tier}`));

/** The schema of the section, which is handed on with the keys of the file. */
export const agentcliSection: Schema = table("agentcli workflows", {
  manifests: list(path("", ""), "Manifest files; loading one exposes nothing"),
  expose: list(text("", ""), "Workflow ids whose shell tasks become endpoints"),
  prompt_runtime: optional(
    word(
      "",
      "^agntcy:/[^\\s]*$",
      'the path of an AGNTCY agent, such as "agntcy:/mailcomposer"',
      'Who answers prompt tasks, such as "agntcy:/mailcomposer"',
    ),
  ),
  trust_levels: table("agentcli level by AGTP trust tier; no default is safe to assume", {
    "1": trustLevel(1),
    "2": trustLevel(2),
    "3": trustLevel(3),
  }),
});
