/**
 * LISTEN and NOTIFY between the nodes of a deployment; without it, as behind some poolers, a change is seen by
 * the next poll.
 */
import { hash } from "node:crypto";
import type { Notification, Pool, PoolClient } from "pg";
import { withClient } from "./driver.ts";

const NOTIFY_AFTER_MS = 2;
const LISTEN_AGAIN_MS = 5_000;

/** The channel of one deployment. */
export class ChangeChannel {
  readonly #pool: Pool;
  readonly #name: string;
  readonly #onHeard: () => void;
  #isClosing = false;
  #notifying: NodeJS.Timeout | undefined;
  #deafen: () => void = () => undefined;

  /** `schema` is the name of the deployment's schema, quoted. */
  constructor(pool: Pool, schema: string, onHeard: () => void) {
    this.#pool = pool;
    this.#name = `agtpd_${hash("sha256", schema).slice(0, 16)}`;
    this.#onHeard = onHeard;
  }

  /** Wakes the others, for many commits once, and outside of their transactions. */
  notify(): void {
    if (this.#isClosing) return;
    this.#notifying ??= setTimeout(() => {
      this.#notifying = undefined;
      this.#pool.query(`NOTIFY ${this.#name}`).catch(() => undefined);
    }, NOTIFY_AFTER_MS);
  }

  /** Listens for the others until it is closed. */
  async listen(): Promise<void> {
    while (!this.#isClosing) {
      try {
        await withClient(this.#pool, (listener) => this.#hear(listener));
      } catch {
        // The poll goes on.
      }
      if (!this.#isClosing) await pause(LISTEN_AGAIN_MS);
    }
  }

  /** Says and hears nothing any more. */
  close(): void {
    this.#isClosing = true;
    clearTimeout(this.#notifying);
    this.#deafen();
  }

  /** Hears the others until the connection ends; never settles otherwise than by throwing. */
  async #hear(listener: PoolClient): Promise<void> {
    const ended = new Promise((_, reject) => {
      this.#deafen = () => reject(new Error("the node is closed"));
      listener.once("error", reject);
      listener.once("end", () => reject(new Error("the connection has ended")));
    });
    // It may end before it is waited for.
    ended.catch(() => undefined);
    if (this.#isClosing) return;
    listener.on("notification", (_: Notification) => this.#onHeard());
    await listener.query(`LISTEN ${this.#name}`);
    await ended;
  }
}

/** Waits, and keeps no process alive for it. */
export function pause(milliseconds: number): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(undefined), milliseconds).unref();
  });
}
