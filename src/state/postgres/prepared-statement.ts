/**
 * A statement that each connection plans only once, since planning takes longer than execution. Behind a pooler that
 * switches connections between transactions, the plan may be missing; the statement is then planned each time.
 */
import { hash } from "node:crypto";
import type { Pool, QueryResult, QueryResultRow } from "pg";
import { codeOf } from "../../base/thrown.ts";

/** SQLSTATEs of a prepared statement that the connection lacks, or has already; nothing was executed. */
const NOT_KEPT: readonly string[] = ["26000", "42P05"];

export class PreparedStatement {
  readonly #pool: Pick<Pool, "query">;
  readonly #text: string;
  /** Undefined once prepared statements have proved unusable. */
  #name: string | undefined;

  constructor(pool: Pick<Pool, "query">, text: string) {
    this.#pool = pool;
    this.#text = text;
    // Named by its text, since a pooler's connections are shared.
    this.#name = `agtp_${hash("sha256", text).slice(0, 32)}`;
  }

  async query<Row extends QueryResultRow>(values: unknown[]): Promise<QueryResult<Row>> {
    const text = this.#text;
    const name = this.#name;
    if (name !== undefined) {
      try {
        return await this.#pool.query<Row>({ name, text, values });
      } catch (error) {
        if (!NOT_KEPT.includes(codeOf(error))) throw error;
        this.#name = undefined;
      }
    }
    return this.#pool.query<Row>({ text, values });
  }
}
