/**
 * Gate 02. May the caller act in this zone, and under the scopes that it claims?
 * 457 outside the zone of its certificate · 400 a malformed claim · 262 a claim that the document does not
 * grant · 455 one beyond the certificate.   AGTP "Authority Scope"; AGTP-CERT "Governance Zone"
 */
import type { Exchange } from "../exchange.ts";
import { type Refusal, zoneViolation } from "../refusals/refusal.ts";
import type { Gate } from "./gate.ts";

/** Refuses another zone, and an invalid claim that gate 00 found. */
export const authorityGate: Gate = (exchange) => checkZone(exchange) ?? exchange.claimRefusal;

/**
 * Refuses another zone than the certificate's. Without the header or an Agent-ID there is nothing
 * to refuse.
 */
function checkZone(exchange: Exchange): Refusal | undefined {
  if (exchange.caller.agentId === undefined) return undefined;
  const zone = exchange.peer.certificate?.agent?.governanceZone;
  if (zone === undefined) return undefined;
  const asked = exchange.header("agtp-zone-id");
  if (asked === undefined || zone === asked) return undefined;
  return zoneViolation("the AGTP-Zone-ID is not the governance zone of the certificate");
}
