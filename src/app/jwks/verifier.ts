/**
 * From `[policies.oauth]` to a verifier of bearer tokens. The issuer's keys come from a file, which
 * must be good at the start, or from a URL, which may be down: the server starts without them and
 * refuses tokens until they are there. Both are followed through rotations.   AGTP "Authorization"
 */
import { statSync } from "node:fs";
import { ForwardClock } from "../../base/forward-clock.ts";
import { isError, type Problem } from "../../base/problem.ts";
import type { OauthConfig } from "../../dispatch/policy/policies-config.ts";
import type { CallLog } from "../../handlers/handler.ts";
import {
  checkKeyFile,
  type KeySet,
  type KeySource,
  readKeyFile,
} from "../../identity/bearer-keys.ts";
import type { TokenVerifier } from "../../identity/bearer-syntax.ts";

/** The parts that a verifier is opened with. */
export interface VerifierOptions {
  readonly oauth: OauthConfig;
  /** Name of the configuration file, for problems. */
  readonly file: string;
  readonly log: Pick<CallLog, "info" | "warn">;
  /** Milliseconds since the epoch; the system's clock unless given. */
  readonly now?: () => number;
}

/** A verifier, or what is wrong with the configuration. */
export interface OpenedVerifier {
  /** Undefined when there are no keys and never will be. */
  readonly verifier: TokenVerifier | undefined;
  readonly problems: readonly Problem[];
  /** Begins to fetch keys in the background: called when the deployment is served. */
  start(): void;
}

/** Opens the verifier. Connects to nothing before `start`. */
export async function openTokenVerifier(options: VerifierOptions): Promise<OpenedVerifier> {
  const { oauth, file, log } = options;
  const { now } = new ForwardClock(options.now);
  // How long keys are good for is measured: a clock that is set back must not prolong it.
  const measured = options.now ?? (() => performance.now());
  const { jwksUri, jwksFile = "" } = oauth;
  if (jwksUri === undefined) {
    const problems = checkKeyFile(jwksFile, { file, key: "policies.oauth.jwks_file" });
    if (problems.some(isError)) return withoutVerifier(problems);
    const keys = new JwksFileKeys({ path: jwksFile, now: measured, log });
    const verifier = await createVerifier(oauth, keys, now);
    return { verifier, problems, start: () => undefined };
  }
  if (!URL.canParse(jwksUri)) {
    const message = `must be a URL, got "${jwksUri}"`;
    return withoutVerifier([{ file, key: "policies.oauth.jwks_uri", message }]);
  }
  // The HTTP client takes long to load: only those wait for it who need it.
  const { createJwksSource } = await import("./source.ts");
  const { JwksKeys } = await import("./keys.ts");
  const source = createJwksSource({ uri: jwksUri });
  const keys = new JwksKeys({ source, now: measured, log });
  const verifier = await createVerifier(oauth, keys, now);
  return { verifier, problems: [], start: () => keys.start() };
}

function withoutVerifier(problems: readonly Problem[]): OpenedVerifier {
  return { verifier: undefined, problems, start: () => undefined };
}

async function createVerifier(
  oauth: OauthConfig,
  keys: KeySource,
  now: () => number,
): Promise<TokenVerifier> {
  const { createTokenVerifier } = await import("../../identity/bearer-verifier.ts");
  return createTokenVerifier({ oauth, keys, now });
}

interface JwksFileKeysParts {
  readonly path: string;
  /** In milliseconds, from any beginning. */
  readonly now: () => number;
  readonly log: Pick<CallLog, "info" | "warn">;
}

/** A key that was taken out of the file is accepted for this long at most. */
const LOOK_MS = 1_000;

/**
 * The token issuer's keys out of a file that may be replaced while the server runs: whoever rotates the
 * keys writes the file, and need restart nothing. A file that is no good any more leaves the keys as they
 * were.   RFC 7517 §5
 */
class JwksFileKeys implements KeySource {
  readonly #path: string;
  readonly #now: () => number;
  readonly #log: JwksFileKeysParts["log"];
  #set: KeySet | undefined;
  #generation = 0;
  #version: string | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor({ path, now, log }: JwksFileKeysParts) {
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
    // A clock that was set back must not stop the looking.
    if (elapsed >= 0 && elapsed < LOOK_MS) return;
    this.#lookedAt = this.#now();
    // Taken before the file is read: what is written meanwhile is found at the next look.
    const version = versionOf(this.#path);
    if (version === this.#version) return;
    this.#version = version;
    this.#read();
  }

  #read(): void {
    const event = "issuer-keys";
    const { set, ignored, fault } = readKeyFile(this.#path);
    if (fault !== undefined) {
      this.#log.warn({ event, reason: fault }, "the token issuer's keys cannot be renewed");
      return;
    }
    if (set.fingerprint === this.#set?.fingerprint) return;
    this.#set = set;
    this.#generation += 1;
    this.#log.info({ event, keys: set.size }, "the token issuer's keys are known");
    if (set.size === 0) this.#log.warn({ event }, "the token issuer publishes no usable key");
    for (const reason of ignored) this.#log.warn({ event, reason }, "a key is not used");
  }
}

/** Another text for another content, as far as the file system can tell. */
function versionOf(path: string): string {
  try {
    const { ino, size, mtimeNs } = statSync(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs}`;
  } catch {
    return "";
  }
}
