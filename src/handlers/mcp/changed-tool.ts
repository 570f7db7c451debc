/**
 * The escalation that asks operators about a tool whose definition differs from its pin. Only this
 * server opens it: an agent's escalation in the same words does not count.
 */
import { hash } from "node:crypto";
import { isRecord } from "../../base/json-value.ts";
import type { Escalation } from "../../state/registers/escalation.ts";
import type { PinnedTool } from "./tool-pins.ts";

/** The tool, and its new definition, which waits for a decision. */
export interface ChangedTool extends PinnedTool {
  /** The pin of the definition that the server offers now. */
  readonly offered: string;
}

/** Why unforgeable: fingerprints of agents' escalations are digests of what they wrote. */
export function changeFingerprint({ server, tool, definition, offered }: ChangedTool): string {
  return hash("sha256", `mcp definition ${JSON.stringify([server, tool, definition, offered])}`);
}

/** The tool of an escalation; undefined unless this server opened it for a changed tool. */
export function changedToolOf({ context, fingerprint }: Escalation): ChangedTool | undefined {
  if (!isRecord(context) || context["kind"] !== "definition") return undefined;
  const { server, tool, file_pin: definition, offered } = context;
  const parts = [server, tool, definition, offered];
  if (!parts.every((part) => typeof part === "string")) return undefined;
  const changed = { server, tool, definition, offered } as ChangedTool;
  return changeFingerprint(changed) === fingerprint ? changed : undefined;
}
