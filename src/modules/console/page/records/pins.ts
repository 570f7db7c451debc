/**
 * The keys that a person pinned in this browser, for each server. They stand in the browser's own
 * storage: the daemon cannot exchange them. The fingerprint is computed here, from the key itself.
 */
import type { ServerKey } from "../answers.ts";
import { fromBase64url, sha256 } from "./bytes.ts";

/** A pinned Ed25519 key. */
export interface PinnedKey {
  /** `ed25519-` and the first 16 hex digits of the fingerprint. */
  readonly kid: string;
  /** SHA-256 of the raw public key, in hex. */
  readonly fingerprint: string;
  /** The raw public key, base64url. */
  readonly x: string;
  /** RFC 3339. */
  readonly pinnedAt: string;
}

const KEY_OCTETS = 32;

/** The keys that are pinned for a server. */
export function readPins(serverId: string): readonly PinnedKey[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(placeOf(serverId)) ?? "[]");
    return Array.isArray(kept) ? kept.filter(isPin) : [];
  } catch {
    return [];
  }
}

/** Keeps the pins of a server. */
export function writePins(serverId: string, pins: readonly PinnedKey[]): void {
  localStorage.setItem(placeOf(serverId), JSON.stringify(pins));
}

/** A key as it would be pinned; undefined for one that is no Ed25519 key. */
export async function pinOf({ jwk }: ServerKey): Promise<PinnedKey | undefined> {
  const octets = jwk.kty === "OKP" && jwk.crv === "Ed25519" ? fromBase64url(jwk.x) : undefined;
  if (octets?.length !== KEY_OCTETS) return undefined;
  const fingerprint = await sha256(octets);
  const kid = `ed25519-${fingerprint.slice(0, 16)}`;
  return { kid, fingerprint, x: jwk.x, pinnedAt: new Date().toISOString() };
}

function placeOf(serverId: string): string {
  return `agtpd.pins.${serverId}`;
}

function isPin(value: unknown): value is PinnedKey {
  if (typeof value !== "object" || value === null) return false;
  const { kid, fingerprint, x, pinnedAt } = value as Record<string, unknown>;
  return [kid, fingerprint, x, pinnedAt].every((one) => typeof one === "string");
}
