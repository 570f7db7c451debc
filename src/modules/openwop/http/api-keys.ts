/**
 * The bearer keys of the HTTP API, by their digests: what whoever holds one may do, and for which
 * tenant.   OpenWOP "auth"
 */

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
  /** The name of it in runs; tells nothing about the key itself. */
  readonly name: string;
  readonly tenant: string;
  readonly scopes: ReadonlySet<string>;
  /** The scopes that tool calls of its runs may use. */
  readonly agtpScopes: readonly string[];
}

/** On whose account is what a key asks for. */
export function payerOfKey({ name, tenant }: ApiKey): TaskOwner {
  return { key: `${name} of ${tenant}`, isKnown: true };
}

/** Longer ones are nobody's. */
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

  /** The key of an Authorization header; undefined: there is no such key. */
  find(authorization: string | undefined): ApiKey | undefined {
    const [, presented = ""] = BEARER.exec(authorization ?? "") ?? [];
    if (presented === "" || presented.length > MAX_KEY_LENGTH) return undefined;
    const digest = hash("sha256", presented, "buffer");
    let found: ApiKey | undefined;
    // Every key is looked at: how long that takes says nothing about any.
    for (const [sha256, key] of this.#keys) {
      if (timingSafeEqual(Buffer.from(sha256, "hex"), digest)) found = key;
    }
    return found;
  }

  /** The key of a run's owner; undefined: there is none of this tenant any more. */
  named({ principal, tenant }: Pick<RunOwner, "principal" | "tenant">): ApiKey | undefined {
    for (const key of this.#keys.values()) {
      if (key.name === principal) return key.tenant === tenant ? key : undefined;
    }
    return undefined;
  }

  /** Tells whether a key that was known before may still read runs, of the same tenant. */
  mayRead({ name: principal, tenant }: ApiKey): boolean {
    return this.named({ principal, tenant })?.scopes.has("runs:read") === true;
  }
}

export interface AudienceLimits {
  readonly all: number;
  readonly perTenant: number;
}

const LIMITS: AudienceLimits = { all: 1024, perTenant: 256 };

/** Somebody who listens to runs. */
interface Listening {
  /** Gives the place back; to be called once. */
  leave(): void;
  /** Aborted when the key is not good for it any more. */
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

  /** Undefined: there is no place left. */
  enter(key: ApiKey): Listening | undefined {
    const { tenant } = key;
    const { all, perTenant } = this.#limits;
    if (this.#listeners.size >= all || this.#byTenant.of(tenant) >= perTenant) return undefined;
    const ending = new AbortController();
    this.#listeners.set(ending, key);
    // Its request was begun before a reload.
    if (this.#keys?.mayRead(key) === false) ending.abort();
    this.#byTenant.add(tenant);
    const leave = (): void => {
      this.#listeners.delete(ending);
      this.#byTenant.remove(tenant);
    };
    return { leave, ended: ending.signal };
  }

  /** These keys are known from now on: whoever listens by another hears no more. */
  serve(keys: ApiKeys): void {
    this.#keys = keys;
    for (const [ending, key] of this.#listeners) if (!keys.mayRead(key)) ending.abort();
  }
}
