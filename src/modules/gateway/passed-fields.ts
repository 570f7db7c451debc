/**
 * Which header fields of an HTTP request come to the pipeline: those that say what is asked for, and
 * the bearer token for whoever validates it. Who asks is for the sidecar to say, so identity fields
 * are never passed, and neither is the opt-in to negotiation.   AGTP "HTTP Gateway"
 */
import { quote, SINGLETON_FIELDS } from "../../wire/header-fields.ts";
import type { HeaderFields, WireFault } from "../../wire/message.ts";

const PASSED: ReadonlySet<string> = new Set([
  "accept",
  "authority-scope",
  "authorization",
  "content-type",
  "contract-synthesized",
  "escalation-id",
  "idempotency-key",
  "request-id",
  "session-id",
  "task-id",
]);

/** The fields of the sidecar's own agent. */
export interface OwnFields {
  readonly agentId: string;
  readonly ownerId: string | undefined;
}

/** The fields that pass, from names and values in turn, as they came. */
export function passFields(
  raw: readonly string[],
  { agentId, ownerId }: OwnFields,
): HeaderFields | WireFault {
  const fields = new Map<string, string>([["agent-id", agentId]]);
  if (ownerId !== undefined) fields.set("owner-id", ownerId);
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? "").toLowerCase();
    if (!PASSED.has(name)) continue;
    const value = raw[at + 1] ?? "";
    const earlier = fields.get(name);
    if (earlier !== undefined && SINGLETON_FIELDS.has(name)) {
      const message = `header field ${quote(name)} may stand once only`;
      return { kind: "wire-fault", code: "invalid-wire-format", message };
    }
    fields.set(name, earlier === undefined ? value : `${earlier}, ${value}`);
  }
  return fields;
}
