/**
 * The destination of an outcome that nobody waits for: the caller's inbox, or an endpoint of this
 * server that the caller may call. Whatever else is written, URLs above all, is refused and never
 * fetched.   AGTP "DELEGATE"
 */
import { quoteValue } from "../../base/json-value.ts";
import { type Refusal, schemaViolation } from "../../dispatch/refusals/refusal.ts";
import { canonicalPair } from "../../dispatch/routes/pairs.ts";
import { creatingRegistry } from "../../endpoint/endpoint-registry.ts";
import type { DelegationContext } from "./config.ts";
import { readAction } from "./execute-request.ts";

/** A place of this server. */
export type Callback =
  | { readonly kind: "inbox" }
  | { readonly kind: "endpoint"; readonly method: string; readonly path: string };

/** The places that can be called back. */
export interface CallbackPlaces {
  /** True if NOTIFY puts things into inboxes here, and is not an operator's own. */
  readonly hasInboxes: boolean;
  /** Tells whether a pair is registered here. */
  isEndpoint(method: string, path: string): boolean;
}

/** Reads a callback of an agent. */
export function readCallback(
  written: unknown,
  agentId: string,
  { hasInboxes, isEndpoint }: CallbackPlaces,
): Callback | Refusal {
  if (typeof written === "string") {
    const inbox = ["inbox", agentId, `agtp://${agentId}`];
    if (inbox.includes(written)) {
      return hasInboxes
        ? { kind: "inbox" }
        : refused("must be an endpoint: no inbox is served here");
    }
    if (/^[a-z][a-z0-9+.-]*:/i.test(written)) {
      return refused(`is a URL, which is never fetched, got ${quoteValue(written)}`);
    }
  }
  const action = readAction(written);
  if (typeof action === "string" || action.kind === "name") return refused(EXPECTED);
  const { method, path } = action;
  if (isEndpoint(method, path)) return { kind: "endpoint", method, path };
  return refused(`names no endpoint of this server, got ${quoteValue(`${method} ${path}`)}`);
}

const EXPECTED = 'must be "inbox", or an endpoint of this server like "RECEIVE /outcomes"';

function refused(message: string): Refusal {
  return schemaViolation([{ path: "/callback", keyword: "format", message }]);
}

/** The operator's endpoints, and inboxes as long as NOTIFY is the protocol's. */
export async function callbackPlaces({
  routes,
  methodPolicy,
  drive,
}: DelegationContext): Promise<CallbackPlaces> {
  const operators = routes.filter(({ tier }) => tier === "B");
  const { registry } = await drive(creatingRegistry(operators));
  const isEndpoint = (method: string, path: string): boolean =>
    registry.find(method, path.split("?", 1)[0] ?? "") !== undefined;
  const { method, path } = canonicalPair(methodPolicy, { method: "NOTIFY", path: "/" });
  const isOurs = method === "NOTIFY" && path === "/" && !isEndpoint(method, path);
  return { hasInboxes: isOurs, isEndpoint };
}
