/** The bearer keys of the HTTP API, stored as digests: each key's tenant and scopes.   OpenWOP "auth" */

import { hash, timingSafeEqual } from "node:crypto";
import { Tally } from "../../../base/tally.ts";
import type { TaskOwner } from "../../../base/task-queue.ts";
import type { RunOwner } from "../agent-executor.ts";
import type { OpenwopApiKey } from "../config.ts";

export const FACE_SCOPES = [
  "manifest:read",
  "runs:create",
  "runs:read",
  "runs:cancel",
  "approvals:respond",
] as const;

export type ApiScope = (typeof FACE_SCOPES)[number];

export interface ApiKey {
  /** The key's name in runs; it reveals nothing of the key. */
  readonly name: string;
  readonly tenant: string;
  readonly scopes: ReadonlySet<string>;
  /** The scopes of its runs' tool calls. */
  readonly agtpScopes: readonly string[];
}

/** The account that a key's requests are charged to. */
export function payerOfKey({ name, tenant }: ApiKey): TaskOwner {
  return { key: `${name} of ${tenant}`, isKnown: true };
}

/** Longer values match no key. */
const MAX_KEY_LENGTH = 1024;
const NAME_DIGITS = 12;
const BEARER = /^Bearer +([!-~]+) *$/i;

export class ApiKeys {
  readonly #keys: ReadonlyMap<string, ApiKey>;

  constructor(entries: readonly OpenwopApiKey[]) {
    this.#keys = new Map(
      entries.map(({ sha256, tenant, scopes, agtpScopes }) => {
        const name = `key:${sha256.slice(0, NAME_DIGITS)}`;
        return [sha256, { name, tenant, scopes: new Set(scopes), agtpScopes }];
      }),
    );
  }

  /** The key of an Authorization header; undefined if unknown. */
  find(authorization: string | undefined): ApiKey | undefined {
    const [, presented = ""] = BEARER.exec(authorization ?? "") ?? [];
    if (presented === "" || presented.length > MAX_KEY_LENGTH) return undefined;
    const digest = hash("sha256", presented, "buffer");
    let found: ApiKey | undefined;
    // Compares with every key, so that the time taken reveals nothing about any of them.
    for (const [sha256, key] of this.#keys) {
      if (timingSafeEqual(Buffer.from(sha256, "hex"), digest)) found = key;
    }
    return found;
  }

  /** The key of a run's owner; undefined if the tenant no longer has it. */
  named({ principal, tenant }: Pick<RunOwner, "principal" | "tenant">): ApiKey | undefined {
    for (const key of this.#keys.values()) {
      if (key.name === principal) return key.tenant === tenant ? key : undefined;
    }
    return undefined;
  }

  /** Tells whether a formerly known key may still read runs of the same tenant. */
  mayRead({ name: principal, tenant }: ApiKey): boolean {
    return this.named({ principal, tenant })?.scopes.has("runs:read") === true;
  }
}

export interface AudienceLimits {
  readonly all: number;
  readonly perTenant: number;
}

const LIMITS: AudienceLimits = { all: 1024, perTenant: 256 };

/** A listener's place among the listeners of runs. */
interface Listening {
  /** Frees the place; called once. */
  leave(): void;
  /** Aborted once the key may no longer read runs. */
  readonly ended: AbortSignal;
}

export class Audience {
  readonly #limits: AudienceLimits;
  readonly #byTenant = new Tally();
  readonly #listeners = new Map<AbortController, ApiKey>();
  #keys: ApiKeys | undefined;

  constructor(limits: AudienceLimits = LIMITS) {
    this.#limits = limits;
  }

  /** Undefined if no place is left. */
  enter(key: ApiKey): Listening | undefined {
    const { tenant } = key;
    const { all, perTenant } = this.#limits;
    if (this.#listeners.size >= all || this.#byTenant.of(tenant) >= perTenant) return undefined;
    const ending = new AbortController();
    this.#listeners.set(ending, key);
    // The request may have begun before a reload.
    if (this.#keys?.mayRead(key) === false) ending.abort();
    this.#byTenant.add(tenant);
    const leave = (): void => {
      this.#listeners.delete(ending);
      this.#byTenant.remove(tenant);
    };
    return { leave, ended: ending.signal };
  }

  /** Replaces the known keys and ends listeners whose key may no longer read. */
  serve(keys: ApiKeys): void {
    this.#keys = keys;
    for (const [ending, key] of this.#listeners) if (!keys.mayRead(key)) ending.abort();
  }
}
