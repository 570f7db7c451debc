/**
 * Reads the Idempotency-Key that a request is under, and what another request under it must have in
 * common with it to be the same. The key is a header field, or a member of the input where the
 * endpoint has one for it. 400 `invalid-identifier` for a key that is malformed, or two that
 * differ. AGTP "Request Headers", AGTP-API §10.1.5
 */
import { hash } from "node:crypto";
import { isOpaqueId } from "../../identity/identifiers.ts";
import type { Exchange } from "../exchange.ts";
import { badRequest, type Refusal } from "../refusals/refusal.ts";
import type { Route } from "../routes/route.ts";

/**
 * The key, for what may change something and is asked for by an agent of this server; undefined:
 * the request is executed as often as it comes.
 */
export function readIdempotencyKey(exchange: Exchange, route: Route): string | Refusal | undefined {
  if (route.isReading || exchange.caller.document === undefined) return undefined;
  // An inner dispatch belongs to the request that has the key.
  if (exchange.inner !== undefined) return undefined;
  const key = exchange.header("idempotency-key");
  const oldKey = exchange.header("rcns-idempotency-key");
  const member = route.idempotencyMember;
  const written = member === undefined ? undefined : exchange.input[member];
  const either = key ?? oldKey ?? written;
  if (either === undefined) return undefined;
  if (oldKey !== undefined && oldKey !== either) {
    return malformed("Idempotency-Key and RCNS-Idempotency-Key must be the same, if both are sent");
  }
  if (written !== undefined && written !== either) {
    return malformed(`Idempotency-Key and ${member} must be the same, if both are sent`);
  }
  if (typeof either === "string" && isOpaqueId(either)) return either;
  return malformed("Idempotency-Key must be 1 to 256 visible ASCII characters");
}

function malformed(message: string): Refusal {
  return badRequest("invalid-identifier", message, { header: "Idempotency-Key" });
}

/**
 * Equal for two requests that ask for the same: method and path as they are answered, what a legacy
 * verb adds, query and body. They must also be vouched for alike: a reply to a certificate or a
 * bearer token is not for whoever merely says to be the same agent.
 */
export function fingerprintOf(exchange: Exchange): string {
  const { method, path, request, mappedParameters = null, caller } = exchange;
  const asked = [method, path, mappedParameters, request.query ?? "", hash("sha256", request.body)];
  const vouched = [caller.isCertified, caller.principalId ?? ""];
  return hash("sha256", JSON.stringify([...asked, ...vouched]));
}
