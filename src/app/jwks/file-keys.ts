/**
 * The token issuer's keys out of a file that may be replaced while the server runs: whoever rotates
 * the keys writes the file, and need restart nothing. A file that is no good any more leaves the
 * keys as they were.   RFC 7517 §5
 */
import { statSync } from "node:fs";
import type { CallLog } from "../../handlers/handler.ts";
import { readKeyFile } from "../../identity/bearer-key-file.ts";
import type { KeySet, KeySource } from "../../identity/bearer-keys.ts";

/** The parts that following the file takes. */
export interface JwksFileKeysParts {
  readonly path: string;
  /** In milliseconds, from any beginning. */
  readonly now: () => number;
  readonly log: Pick<CallLog, "info" | "warn">;
}

/** A key that was taken out of the file is accepted for this long at most. */
const LOOK_MS = 1_000;

export class JwksFileKeys implements KeySource {
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
