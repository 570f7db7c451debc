/**
 * Kinds that are judged as a whole: documents whose parts have to agree with each other or with what the
 * server says elsewhere. Each check answers with what was expected, or with nothing.
 */

import { isRecord } from "../../base/json-value.ts";
import { FLOOR_METHODS } from "../../catalog/catalog.ts";
import { sha256Hex } from "../../identity/canonical-form.ts";
import { signedOctets } from "../../identity/genesis.ts";
import { decodeJws } from "../../identity/jws.ts";
import { verifyManifest } from "../../identity/manifest-signature.ts";
import type { Bindings } from "./bindings.ts";
import { pairOf } from "./trial.ts";

const SHA256 = /^[0-9a-f]{64}$/;
const ORIGINS: readonly unknown[] = ["rcns-gate", "propose", "pre-registered"];

/** AGTP-API §9.2: aliases are method names, and none leads to another alias. */
export function checkAliases(value: unknown): string | undefined {
  if (!isRecord(value)) return "expected an object of aliases";
  const entries = Object.entries(value);
  const odd = entries.find(([, target]) => typeof target !== "string" || target === "");
  if (odd !== undefined) return `expected the alias ${odd[0]} to name a method`;
  const chained = entries.find(([, target]) => Object.hasOwn(value, String(target)));
  return chained && `expected ${chained[0]} to be an alias of a method, not of an alias`;
}

/** AGTP-API §8.4: all eighteen, as names or as objects that have one. */
export function checkEmbeddedMethods(value: unknown): string | undefined {
  if (!Array.isArray(value)) return "expected the eighteen floor methods";
  const names = new Set(value.map((entry) => (isRecord(entry) ? nameOf(entry) : entry)));
  const missing = FLOOR_METHODS.find((method) => !names.has(method));
  return missing && `expected the eighteen floor methods, and ${missing} among them`;
}

function nameOf(entry: Readonly<Record<string, unknown>>): unknown {
  return entry["name"] ?? entry["method"];
}

/** AGTP-API §5.8: the inventory has every endpoint that the manifest has. */
export function checkInventory(value: unknown, bindings: Bindings): string | undefined {
  if (!Array.isArray(value)) return "expected an array of endpoints";
  const listed = new Set(value.filter(isRecord).map(pairOf));
  const published = bindings.get("manifest.endpoints");
  const missing = (Array.isArray(published) ? published : [])
    .filter(isRecord)
    .map(pairOf)
    .find((pair) => !listed.has(pair));
  return missing && `expected every endpoint of the manifest, and ${missing} among them`;
}

/** AGTP-API §8.8: a signature may be absent, and may not be false. */
export function checkManifestSignature(value: unknown): string | undefined {
  if (!isRecord(value)) return "expected a manifest";
  const verdict = verifyManifest(value);
  if (verdict.kind !== "invalid") return undefined;
  return `expected a manifest_signature that verifies: it ${verdict.fault}`;
}

/** AGTP-API §5.8.1: what was hashed into the Agent-ID, still with its signature. */
export function checkGenesis(value: unknown): string | undefined {
  if (!isRecord(value)) return "expected an Agent Genesis";
  if (typeof value["signature"] !== "string") return "expected an Agent Genesis with its signature";
  const derived = hashOf(value);
  return derived === value["agent_id"]
    ? undefined
    : `expected an Agent Genesis whose hash is its agent_id, it is ${String(derived)}`;
}

function hashOf(genesis: Readonly<Record<string, unknown>>): string | undefined {
  try {
    return sha256Hex(signedOctets(genesis));
  } catch {
    // It has no canonical form: nested too deeply, or a number that JCS does not know.
    return undefined;
  }
}

/** AGTP-API §10.1.6: the record of an action under a contract says under which. */
export function checkContractRecord(value: unknown, bindings: Bindings): string | undefined {
  const payload = typeof value === "string" ? decodeJws(value)?.payload : undefined;
  if (payload === undefined) return "expected an Attribution-Record";
  const { synthesis_id: id, contract_hash: hash, negotiation_origin: origin } = payload;
  if (id !== bindings.get("contract")) {
    return "expected an Attribution-Record with the synthesis_id of the contract";
  }
  if (typeof hash !== "string" || !SHA256.test(hash)) {
    return "expected an Attribution-Record with a contract_hash of 64 hexadecimal digits";
  }
  return ORIGINS.includes(origin)
    ? undefined
    : `expected an Attribution-Record with a negotiation_origin, one of ${ORIGINS.join(", ")}`;
}
