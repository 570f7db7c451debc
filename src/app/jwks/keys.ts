/** The token issuer's keys, from a URL or a file, with their rotations.   RFC 7517, AGTP "Authorization" */

import { statSync } from "node:fs";
import type { ForwardClock } from "../../base/forward-clock.ts";
import { isError, type Problem } from "../../base/problem.ts";
import type { OauthConfig } from "../../dispatch/policy/policies-section.ts";
import type { CallLog } from "../../handlers/handler.ts";
import {
  checkKeyFile,
  type KeySet,
  type KeySource,
  readKeyFile,
} from "../../identity/bearer-keys.ts";
import type { TokenVerifier } from "../../identity/bearer-syntax.ts";
import { type AnsweredKeys, KeyCache } from "../../identity/key-cache.ts";
import type { FetchedKeys, JwksSource } from "./source.ts";

interface Following {
  /** Returns monotonic milliseconds. */
  readonly now: () => number;
  readonly log: Pick<CallLog, "info" | "warn">;
}

const STALE_MS = 86_400_000;
/** The pauses after one failed fetch, after two, and after more. */
const BACK_OFF_MS = [1_000, 5_000, 30_000] as const;
/** The pause between fetches for unknown key ids, which also bounds the delay of a rotation. */
const COOL_DOWN_MS = 2_000;

/**
 * Keys from a URL: fetched again when they expire or a token names an unknown key, and used for
 * another day while the issuer does not answer. Anybody can invent a key id, but the pause after
 * one is short, since honest tokens with a new key wait for it too.
 */
export class JwksKeys implements KeySource {
  readonly #source: JwksSource;
  readonly #log: Following["log"];
  readonly #cache: KeyCache<KeySet>;
  #fingerprint: string | undefined;
  #generation = 0;
  #isClosed = false;

  constructor(source: JwksSource, { now, log }: Following) {
    this.#source = source;
    this.#log = log;
    this.#cache = new KeyCache({
      ask: () => this.#ask(),
      now,
      staleMs: STALE_MS,
      pauseAfter: (faults, isFound) =>
        BACK_OFF_MS[Math.min(faults, BACK_OFF_MS.length) - 1] ?? (isFound ? 0 : COOL_DOWN_MS),
    });
  }

  get generation(): number {
    return this.#generation;
  }

  /** Starts the first fetch in the background. */
  start(): void {
    void this.#renew(undefined);
  }

  async keysFor(kid: string | undefined): Promise<KeySet | undefined> {
    const { usable, fresh, fault } = this.#cache;
    const isKnown = usable !== undefined && (kid === undefined || usable.has(kid));
    if (isKnown && fresh !== undefined) return fresh;
    const renewed = this.#renew(kid);
    // A known key does not wait for an issuer that failed last time.
    if (isKnown && fault !== undefined) return usable;
    await renewed;
    return this.#cache.usable;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#source.close();
    await this.#cache.settled();
  }

  async #renew(kid: string | undefined): Promise<void> {
    if (this.#isClosed) return;
    await this.#cache.renew((keys) => kid === undefined || keys.has(kid));
  }

  async #ask(): Promise<AnsweredKeys<KeySet>> {
    const fetched = await this.#source.fetch();
    if (fetched.fault === undefined) {
      this.#report(fetched);
      return { keys: fetched.set, lifetimeMs: fetched.lifetimeMs };
    }
    const outcome = this.#cache.usable === undefined ? "had" : "renewed";
    const message = `the token issuer's keys cannot be ${outcome}`;
    if (!this.#isClosed) this.#log.warn({ event: "issuer-keys", reason: fetched.fault }, message);
    return fetched;
  }

  #report(fetched: FetchedKeys): void {
    if (fetched.set.fingerprint === this.#fingerprint) return;
    this.#fingerprint = fetched.set.fingerprint;
    this.#generation += 1;
    tellKeys(this.#log, fetched);
  }
}

/** The longest time that a key removed from the file is still accepted. */
const LOOK_MS = 1_000;

/**
 * Keys from a file that may be replaced while the server runs, so that a rotation needs no restart.
 * An invalid file leaves the keys unchanged.   RFC 7517 §5
 */
class JwksFileKeys implements KeySource {
  readonly #path: string;
  readonly #now: () => number;
  readonly #log: Following["log"];
  #set: KeySet | undefined;
  #generation = 0;
  #version: string | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(path: string, { now, log }: Following) {
    this.#path = path;
    this.#now = now;
    this.#log = log;
  }

  get generation(): number {
    this.#look();
    return this.#generation;
  }

  keysFor(): Promise<KeySet | undefined> {
    this.#look();
    return Promise.resolve(this.#set);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #look(): void {
    const elapsed = this.#now() - this.#lookedAt;
    // Also checked after the clock was set back.
    if (elapsed >= 0 && elapsed < LOOK_MS) return;
    this.#lookedAt = this.#now();
    // Taken before the file is read, so that a concurrent write is found at the next look.
    const version = versionOf(this.#path);
    if (version === this.#version) return;
    this.#version = version;
    this.#read();
  }

  #read(): void {
    const read = readKeyFile(this.#path);
    if (read.fault !== undefined) {
      this.#log.warn(
        { event: "issuer-keys", reason: read.fault },
        "the token issuer's keys cannot be renewed",
      );
      return;
    }
    if (read.set.fingerprint === this.#set?.fingerprint) return;
    this.#set = read.set;
    this.#generation += 1;
    tellKeys(this.#log, read);
  }
}

/** Returns a text that changes with the file's content, as far as the file system can tell. */
function versionOf(path: string): string {
  try {
    const { ino, size, mtimeNs } = statSync(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs}`;
  } catch {
    return "";
  }
}

function tellKeys(
  log: Following["log"],
  { set, ignored }: { readonly set: KeySet; readonly ignored: readonly string[] },
): void {
  log.info({ event: "issuer-keys", keys: set.size }, "the token issuer's keys are known");
  if (set.size === 0) {
    log.warn({ event: "issuer-keys" }, "the token issuer publishes no usable key");
  }
  for (const reason of ignored) log.warn({ event: "issuer-keys", reason }, "a key is not used");
}

/** The options of a verifier. */
export interface VerifierOptions {
  readonly oauth: OauthConfig;
  readonly file: string;
  readonly log: Pick<CallLog, "info" | "warn">;
  /** The daemon's clock, which never goes back, so that expired tokens stay expired. */
  readonly clock: Pick<ForwardClock, "now">;
  /** The monotonic clock for the lifetime of keys, which a clock that is set back must not prolong. */
  readonly measured?: () => number;
}

/** A verifier, or the problems of its configuration. */
export interface OpenedVerifier {
  /** Undefined if there can never be any keys. */
  readonly verifier: TokenVerifier | undefined;
  readonly problems: readonly Problem[];
  /** Starts to fetch keys in the background; called when the deployment serves. */
  start(): void;
}

/**
 * Opens the verifier of bearer tokens; makes no connection before `start`. A key file must be valid
 * at the start, while a URL may be down: tokens are refused until its keys arrive.   AGTP
 * "Authorization"
 */
export async function openTokenVerifier(options: VerifierOptions): Promise<OpenedVerifier> {
  const { oauth, file, log, clock, measured: now = () => performance.now() } = options;
  const { jwksUri, jwksFile = "" } = oauth;
  const problems = checkKeySource(oauth, file);
  if (problems.some(isError)) return { verifier: undefined, problems, start: () => undefined };
  if (jwksUri === undefined) {
    const keys = new JwksFileKeys(jwksFile, { now, log });
    const verifier = await createVerifier(oauth, keys, clock.now);
    return { verifier, problems, start: () => undefined };
  }
  // Imported here, since the HTTP client loads slowly.
  const { createJwksSource } = await import("./source.ts");
  const source = createJwksSource({ uri: jwksUri });
  const keys = new JwksKeys(source, { now, log });
  const verifier = await createVerifier(oauth, keys, clock.now);
  return { verifier, problems, start: () => keys.start() };
}

/** Returns the problems of the key source that can be found without the network. */
function checkKeySource({ jwksUri, jwksFile }: OauthConfig, file: string): readonly Problem[] {
  if (jwksUri === undefined) {
    const key = "policies.oauth";
    if (jwksFile !== undefined) return checkKeyFile(jwksFile, { file, key: `${key}.jwks_file` });
    return [{ file, key, message: "must have one of jwks_uri and jwks_file" }];
  }
  if (URL.canParse(jwksUri)) return [];
  return [{ file, key: "policies.oauth.jwks_uri", message: `must be a URL, got "${jwksUri}"` }];
}

async function createVerifier(
  oauth: OauthConfig,
  keys: KeySource,
  now: () => number,
): Promise<TokenVerifier> {
  const { createTokenVerifier } = await import("../../identity/bearer-verifier.ts");
  return createTokenVerifier({ oauth, keys, now });
}
