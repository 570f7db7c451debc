/**
 * The claim of the one node that cuts. It stays that node's until its process is gone; each step that
 * counts is a transaction that finds the claim as it was, so that a node that was stopped and goes on
 * when another has taken over changes nothing.
 */

import type { Pool, PoolClient } from "pg";
import { HolderLostError, type Holders } from "../holders.ts";
import { readMeta } from "./cut-rows.ts";
import { inTransaction } from "./driver.ts";

/** The name of its row in `meta`. */
const HOLDER = "cut_holder";
/** How long the server waits for the next statement of a transaction. */
const IDLE_MS = 3_000;

export class CutClaim {
  readonly #pool: Pool;
  /** The schema, quoted. */
  readonly #name: string;
  readonly #holders: Holders;
  readonly #self: string;

  constructor(pool: Pool, name: string, holders: Holders & { readonly self: string }) {
    this.#pool = pool;
    this.#name = name;
    this.#holders = holders;
    this.#self = holders.self;
  }

  /** True where this process is the one that cuts. */
  async take(): Promise<boolean> {
    const holder = await readMeta(this.#pool, this.#name, HOLDER);
    if (holder === this.#self) return true;
    if (holder !== undefined && !this.#holders.isGone(holder)) return false;
    const { rowCount } = await this.#pool.query(
      `INSERT INTO ${this.#name}.meta AS m VALUES ('${HOLDER}', $1)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE m.value = $2`,
      [this.#self, holder ?? null],
    );
    return rowCount === 1;
  }

  /** Lets another process cut. */
  async release(): Promise<void> {
    await this.#pool.query(
      `DELETE FROM ${this.#name}.meta WHERE name = '${HOLDER}' AND value = $1`,
      [this.#self],
    );
  }

  /** Writes as the one that cuts. @throws HolderLostError where another does by now */
  change<Done>(write: (client: PoolClient) => Promise<Done>): Promise<Done> {
    const begin = `BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS}`;
    return inTransaction(this.#pool, begin, async (client) => {
      const { rows } = await client.query<{ value: string }>(
        `SELECT value FROM ${this.#name}.meta WHERE name = '${HOLDER}' FOR UPDATE`,
      );
      if (rows[0]?.value !== this.#self) throw new HolderLostError();
      return write(client);
    });
  }
}
