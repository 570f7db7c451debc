/**
 * A tool whose definition is another than its pin, as operators are asked about it: an escalation of
 * this server's own. An agent may write one in the same words, which is about no tool.
 */
import { hash } from "node:crypto";
import { isRecord } from "../../base/json-value.ts";
import type { Escalation } from "../../state/registers/escalation.ts";
import type { PinnedTool } from "./tool-pins.ts";

/** The tool, and the definition that waits for a decision. */
export interface ChangedTool extends PinnedTool {
  /** The pin of what is offered. */
  readonly offered: string;
}

/** No escalation that an agent writes has this fingerprint: those are digests of what it wrote. */
export function changeFingerprint({ server, tool, definition, offered }: ChangedTool): string {
  return hash("sha256", `mcp definition ${JSON.stringify([server, tool, definition, offered])}`);
}

/** The tool that an escalation is about, where it was this server that opened it. */
export function changedToolOf({ context, fingerprint }: Escalation): ChangedTool | undefined {
  if (!isRecord(context) || context["kind"] !== "definition") return undefined;
  const { server, tool, file_pin: definition, offered } = context;
  const parts = [server, tool, definition, offered];
  if (!parts.every((part) => typeof part === "string")) return undefined;
  const changed = { server, tool, definition, offered } as ChangedTool;
  return changeFingerprint(changed) === fingerprint ? changed : undefined;
}
