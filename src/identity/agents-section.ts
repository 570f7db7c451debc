/** `[agents]`: the agents that this server knows, and who is shown them. */
import { choice, optional, path, type Schema, table, text } from "../schema/section-field.ts";

/** `[agents]` */
export interface AgentsConfig {
  readonly dir: string;
  readonly disclosure: "public" | "authenticated" | "private";
  readonly disclosureNotice?: string;
  readonly default?: string;
}

/** Its schema. */
export const agentsSection: Schema = table("The agents this server knows", {
  dir: path("agents", "Directory of *.agent.json and *.genesis.json"),
  disclosure: choice(
    "public",
    ["public", "authenticated", "private"],
    "Who is shown the hosted agents: anybody, known agents, or nobody",
  ),
  disclosure_notice: optional(text("", "What the manifest says to those who are not shown them")),
  default: optional(text("", "Name of the agent that is addressed when a request names none")),
});
