/**
 * A statement that each connection plans once, which takes longer than executing it. A pooler that
 * lends another connection for each transaction may not know of it: then it is planned each time.
 */
import { hash } from "node:crypto";
import type { Pool, QueryResult, QueryResultRow } from "pg";
import { codeOf } from "../../base/thrown.ts";

/** SQLSTATE of a statement that a connection does not know, or knows already; nothing was executed. */
const NOT_KEPT: readonly string[] = ["26000", "42P05"];

export class PreparedStatement {
  readonly #pool: Pick<Pool, "query">;
  readonly #text: string;
  /** Undefined once a connection has turned out to keep none. */
  #name: string | undefined;

  constructor(pool: Pick<Pool, "query">, text: string) {
    this.#pool = pool;
    this.#text = text;
    // Whoever else has a connection of the pooler's, of one name there is one text.
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
