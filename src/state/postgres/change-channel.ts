/**
 * LISTEN and NOTIFY between the nodes of a deployment. Without it, as behind some poolers, a change is seen at the
 * next poll.
 */
import { hash } from "node:crypto";
import type { Notification, Pool, PoolClient } from "pg";
import { withClient } from "./driver.ts";

const NOTIFY_AFTER_MS = 2;
const LISTEN_AGAIN_MS = 5_000;

/** The notification channel of one deployment. */
export class ChangeChannel {
  readonly #pool: Pool;
  readonly #name: string;
  readonly #onHeard: () => void;
  #isClosing = false;
  #notifying: NodeJS.Timeout | undefined;
  #deafen: () => void = () => undefined;

  /** `schema` is the deployment's schema, quoted. */
  constructor(pool: Pool, schema: string, onHeard: () => void) {
    this.#pool = pool;
    this.#name = `agtpd_${hash("sha256", schema).slice(0, 16)}`;
    this.#onHeard = onHeard;
  }

  /** Notifies the other nodes, once for many commits, and outside their transactions. */
  notify(): void {
    if (this.#isClosing) return;
    this.#notifying ??= setTimeout(() => {
      this.#notifying = undefined;
      this.#pool.query(`NOTIFY ${this.#name}`).catch(() => undefined);
    }, NOTIFY_AFTER_MS);
  }

  /** Listens for the other nodes until closed. */
  async listen(): Promise<void> {
    while (!this.#isClosing) {
      try {
        await withClient(this.#pool, (listener) => this.#hear(listener));
      } catch {
        // Polling goes on meanwhile.
      }
      if (!this.#isClosing) await pause(LISTEN_AGAIN_MS);
    }
  }

  /** Stops notifying and listening. */
  close(): void {
    this.#isClosing = true;
    clearTimeout(this.#notifying);
    this.#deafen();
  }

  /** Listens until the connection ends, and then throws; never resolves. */
  async #hear(listener: PoolClient): Promise<void> {
    const ended = new Promise((_, reject) => {
      this.#deafen = () => reject(new Error("the node is closed"));
      listener.once("error", reject);
      listener.once("end", () => reject(new Error("the connection has ended")));
    });
    // It may reject before it is awaited.
    ended.catch(() => undefined);
    if (this.#isClosing) return;
    listener.on("notification", (_: Notification) => this.#onHeard());
    await listener.query(`LISTEN ${this.#name}`);
    await ended;
  }
}

/** Waits, without keeping the process alive. */
export function pause(milliseconds: number): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(undefined), milliseconds).unref();
  });
}
