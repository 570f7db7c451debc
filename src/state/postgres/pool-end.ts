/**
 * The end of a pool. While a daemon ends, a server that answers nothing any more is not waited for: the
 * statement timeout of one write behind the other would add up to half a minute.
 */
import type { Client, Pool, PoolClient } from "pg";

export class PoolEnd {
  readonly #pool: Pool;
  readonly #inUse = new Set<PoolClient>();
  #ending: Promise<void> | undefined;
  /** Set while the server's silence is watched. */
  #timer: NodeJS.Timeout | undefined;
  #answeredAt = 0;
  #sayGivenUp: () => void = () => undefined;
  readonly #givenUp: Promise<void> = new Promise((resolve) => {
    this.#sayGivenUp = resolve;
  });

  constructor(pool: Pool) {
    this.#pool = pool;
    pool.on("acquire", (client) => this.#inUse.add(client));
    pool.on("release", (failed: unknown, client) => {
      this.#inUse.delete(client);
      if (this.#timer !== undefined && !failed) this.#answeredAt = performance.now();
    });
  }

  /** Gives up once nothing was answered for so long: all that is asked fails from then on. */
  giveUpAfter(milliseconds: number, onGivenUp: () => void): void {
    if (this.#timer !== undefined || this.#ending !== undefined) return;
    const watch = (left: number): void => {
      this.#timer = setTimeout(() => {
        const silentMs = performance.now() - this.#answeredAt;
        if (silentMs < milliseconds) return watch(milliseconds - silentMs);
        onGivenUp();
        this.#giveUp();
      }, left).unref();
    };
    this.#answeredAt = performance.now();
    watch(milliseconds);
  }

  /** Ends every connection; resolves without those that nothing passes on once it was given up. */
  async end(): Promise<void> {
    await Promise.race([this.#end(), this.#givenUp]);
    clearTimeout(this.#timer);
  }

  #giveUp(): void {
    void this.#end();
    // The clients of a pool are whole ones; a statement that is under way is cut off with its connection.
    for (const client of this.#inUse) void (client as PoolClient & Client).end();
    this.#sayGivenUp();
  }

  #end(): Promise<void> {
    this.#ending ??= this.#pool.end();
    return this.#ending;
  }
}
