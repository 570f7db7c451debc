/** The server's signing keys, and the keys pinned in this browser. */
import type { ServerKey } from "../../answers.ts";
import { type ApiError, session, useApi } from "../api.ts";
import { Moment } from "../parts/facts.ts";
import { Pending } from "../parts/page.ts";
import { html, useEffect, useState, type VNode } from "../preact.ts";
import { visible } from "../text.ts";
import { fromBase64url, sha256 } from "./examine-record.ts";

/** The keys, and functions that change the pins. */
export interface Keys {
  readonly pins: readonly PinnedKey[];
  /** Server keys that are not pinned; undefined while loading. */
  readonly offered: readonly PinnedKey[] | undefined;
  readonly error: ApiError | undefined;
  readonly pin: (key: PinnedKey) => void;
  readonly unpin: (key: PinnedKey) => void;
}

const CHANGED = "console:pins";

/** Returns the keys; every component sees a change at once. */
export function useKeys(): Keys {
  const serverId = session().server_id;
  const { data, error } = useApi<{ readonly keys: readonly ServerKey[] }>("/api/keys");
  const [served, setServed] = useState<readonly PinnedKey[] | undefined>(undefined);
  const [pins, setPins] = useState(() => readPins(serverId));
  useEffect(() => {
    const update = (): void => setPins(readPins(serverId));
    for (const name of [CHANGED, "storage"]) addEventListener(name, update);
    return () => {
      for (const name of [CHANGED, "storage"]) removeEventListener(name, update);
    };
  }, [serverId]);
  useEffect(() => {
    if (data === undefined) return;
    void Promise.all(data.keys.map(pinOf)).then((keys) =>
      setServed(keys.filter((key) => key !== undefined)),
    );
  }, [data]);
  const change = (next: readonly PinnedKey[]): void => {
    keep("pins", serverId, next);
    dispatchEvent(new Event(CHANGED));
  };
  return {
    ...{ pins, error },
    offered: served?.filter((key) => !pins.some(({ x }) => x === key.x)),
    pin: (key) => change([...readPins(serverId), { ...key, pinnedAt: new Date().toISOString() }]),
    unpin: ({ x }) => change(readPins(serverId).filter((pin) => pin.x !== x)),
  };
}

/** The keys, with the question whether to trust new ones. */
export function KeyPanel({ keys }: { readonly keys: Keys }): VNode {
  if (keys.offered === undefined) return html`<${Pending} error=${keys.error} />`;
  return html`<div class="keys">
    ${offeredKeys(keys, keys.offered)}
    ${keys.pins.length > 0 && pinnedKeys(keys)}
  </div>`;
}

function offeredKeys(keys: Keys, offered: readonly PinnedKey[]): VNode | undefined {
  if (offered.length === 0) {
    if (keys.pins.length > 0) return undefined;
    return html`<p class="warning">This server does not sign its records: nothing can vouch for them.</p>`;
  }
  const isFirst = keys.pins.length === 0;
  return html`<div class="warning" role="note" aria-label=${isFirst ? "Pin a key" : "New key"}>
    <p>${
      isFirst
        ? "No key is pinned in this browser. Compare the fingerprint with the one that the operator of the server gave you, and pin the key if it is the same."
        : "The server signs with a key that is not pinned in this browser. Unless its operator has told you of a new key, somebody else may be signing."
    }</p>
    <ul class="key-list">${offered.map(
      (key) => html`<li key=${key.x}>${nameOf(key)}
        <button type="button" onClick=${() => keys.pin(key)}>Pin key</button></li>`,
    )}</ul>
  </div>`;
}

function pinnedKeys(keys: Keys): VNode {
  return html`<ul class="key-list" aria-label="Pinned keys">${keys.pins.map(
    (key) => html`<li key=${key.x}>${nameOf(key)}
      <span class="quiet">pinned <${Moment} at=${key.pinnedAt} /></span>
      <button type="button" onClick=${() => keys.unpin(key)}>Remove pin</button></li>`,
  )}</ul>`;
}

function nameOf({ kid, fingerprint }: PinnedKey): VNode {
  return html`<span class="key"><strong>${visible(kid)}</strong> <span class="quiet">SHA-256</span>${" "}
    <code class="long">${visible(fingerprint)}</code></span>`;
}

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

/**
 * Reads the keys that a person pinned in this browser for a server. The daemon cannot replace them, since they are in
 * the browser's own storage; the fingerprint is computed here, from the key itself.
 */
function readPins(serverId: string): readonly PinnedKey[] {
  const kept = readKept("pins", serverId);
  return Array.isArray(kept) ? kept.filter(isPin) : [];
}

/** Reads a value stored in this browser for a server; undefined if there is none, or no JSON. */
export function readKept(name: "pins" | "heads", serverId: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(`agtpd.${name}.${serverId}`) ?? "");
  } catch {
    return undefined;
  }
}

/** Stores a value in this browser. */
export function keep(name: "pins" | "heads", serverId: string, value: object): void {
  localStorage.setItem(`agtpd.${name}.${serverId}`, JSON.stringify(value));
}

/** Converts a server key to a pin; undefined if it is not an Ed25519 key. */
async function pinOf({ jwk }: ServerKey): Promise<PinnedKey | undefined> {
  const octets = jwk.kty === "OKP" && jwk.crv === "Ed25519" ? fromBase64url(jwk.x) : undefined;
  if (octets?.length !== KEY_OCTETS) return undefined;
  const fingerprint = await sha256(octets);
  const kid = `ed25519-${fingerprint.slice(0, 16)}`;
  return { kid, fingerprint, x: jwk.x, pinnedAt: new Date().toISOString() };
}

function isPin(value: unknown): value is PinnedKey {
  if (typeof value !== "object" || value === null) return false;
  const { kid, fingerprint, x, pinnedAt } = value as Record<string, unknown>;
  return [kid, fingerprint, x, pinnedAt].every((one) => typeof one === "string");
}
