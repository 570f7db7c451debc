/** The table of nodes: a row for each, which its process beats, and from which the others see whether it lives. */
import type { Pool } from "pg";
import type { NodeEntry } from "../state.ts";
import { again } from "./fault.ts";
import { SERVER } from "./feed.ts";

export interface OwnRow {
  readonly node: string;
  /** Differs for each process. */
  readonly process: string;
  readonly address: string;
  readonly version: string;
  readonly leaseMs: number;
}

/** A node as its last beat shows it. */
interface BeatRow {
  readonly node: string;
  readonly process: string;
  readonly beat: string;
  readonly lease_ms: number;
}

/** A node that says nothing for so long, by the server's clock, is no node any more. */
const GONE_AFTER = "1 hour";

/** The beat under this node's name. */
interface OwnBeat {
  readonly beat: string;
  readonly leaseMs: number;
  /** True if its lease is over twice: its process is gone. */
  readonly isLate: boolean;
}

/** The table, as one process of the deployment reads and writes it. */
export class NodeTable {
  readonly #pool: Pool;
  /** The name of the schema, quoted. */
  readonly #name: string;
  readonly #own: OwnRow;
  /** By process its latest beat, and when it was first heard here. */
  readonly #heard = new Map<string, { readonly beat: string; readonly at: number }>();
  /** The others that did not move for their lease, as the last beat found them. */
  #silent: readonly BeatRow[] = [];

  constructor(pool: Pool, name: string, own: OwnRow) {
    this.#pool = pool;
    this.#name = name;
    this.#own = own;
  }

  /** The beat of the node's name now, whoever has it. */
  async beatOfOwn(): Promise<OwnBeat | undefined> {
    const { rows } = await this.#pool.query<{ beat: string; lease_ms: number; late: boolean }>(
      `SELECT beat, lease_ms, beat_at < clock_timestamp() - lease_ms * interval '2 ms' AS late
        FROM ${this.#name}.nodes WHERE node = $1`,
      [this.#own.node],
    );
    const [row] = rows;
    return row && { beat: row.beat, leaseMs: row.lease_ms, isLate: row.late };
  }

  /** Takes the name, whoever has it. */
  async enter(): Promise<void> {
    const { node, process, address, version, leaseMs } = this.#own;
    await this.#pool.query(
      `INSERT INTO ${this.#name}.nodes (node, process, address, version, lease_ms)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (node) DO UPDATE SET process = excluded.process, address = excluded.address,
          version = excluded.version, lease_ms = excluded.lease_ms, since = clock_timestamp(),
          beat_at = clock_timestamp(), beat = nodes.beat + 1, taken = 0`,
      [node, process, address, version, leaseMs],
    );
  }

  /**
   * Forgets nodes that are long gone. The server's clock may have been set, and is believed of those alone that
   * do not move here either.
   */
  async forgetGone(): Promise<void> {
    await this.#pool.query(
      `DELETE FROM ${this.#name}.nodes n USING unnest($1::text[], $2::bigint[]) AS silent (process, beat)
        WHERE n.process = silent.process AND n.beat = silent.beat
          AND beat_at < clock_timestamp() - interval '${GONE_AFTER}'`,
      [this.#silent.map(({ process }) => process), this.#silent.map(({ beat }) => beat)],
    );
  }

  /**
   * Beats, having taken in the transactions of a server up to one; the other nodes that live. Undefined:
   * another process has the name.
   */
  async beat(taken: number, server: string): Promise<readonly BeatRow[] | undefined> {
    const { node, process } = this.#own;
    // Where the database begins serializable, two nodes that beat at the same time exclude each other.
    const { rows } = await again(() =>
      this.#pool.query<BeatRow>(
        `WITH beat AS (
          UPDATE ${this.#name}.nodes SET beat = beat + 1, beat_at = clock_timestamp(),
            taken = CASE WHEN ${SERVER} = $4 THEN $3::bigint ELSE 0 END
          WHERE node = $1 AND process = $2 RETURNING node
        ) SELECT n.node, n.process, n.beat, n.lease_ms FROM beat JOIN ${this.#name}.nodes n ON true`,
        [node, process, taken, server],
      ),
    );
    // Forgotten by those who did not hear of it for long, or not yet known to the server's replica.
    if (rows.length === 0) return (await this.#enterAnew()) ? this.beat(taken, server) : undefined;
    const others = rows.filter((one) => one.node !== node);
    const processes = new Set(others.map((one) => one.process));
    for (const one of this.#heard.keys()) if (!processes.has(one)) this.#heard.delete(one);
    const live = new Set(others.filter((one) => this.#isLive(one)));
    this.#silent = others.filter((one) => !live.has(one));
    return [...live];
  }

  /** The leases, in milliseconds, of the nodes that have not taken a transaction in. */
  async laggards(transaction: number): Promise<readonly number[]> {
    const { rows } = await this.#pool.query<BeatRow>(
      `SELECT node, process, beat, lease_ms FROM ${this.#name}.nodes
        WHERE node <> $1 AND taken < $2`,
      [this.#own.node, transaction],
    );
    const live = rows.filter((row) => this.#isLive(row));
    return live.map(({ lease_ms: leaseMs }) => leaseMs);
  }

  /** Every node that has been heard of lately. */
  async list(): Promise<readonly NodeEntry[]> {
    const { rows } = await this.#pool.query<Record<string, unknown>>(
      `SELECT node, address, version, extract(epoch FROM since) * 1000 AS since, greatest(0, lease_ms
          - extract(epoch FROM clock_timestamp() - beat_at) * 1000)::integer AS lease
        FROM ${this.#name}.nodes ORDER BY node`,
    );
    return rows.map((row) => ({
      node: String(row["node"]),
      address: String(row["address"]),
      version: String(row["version"]),
      since: new Date(Number(row["since"])).toISOString(),
      state: Number(row["lease"]) > 0 ? "live" : "silent",
      leaseMs: Number(row["lease"]),
    }));
  }

  /** Takes the name again where nobody has it. */
  async #enterAnew(): Promise<boolean> {
    const { node, process, address, version, leaseMs } = this.#own;
    const { rowCount } = await this.#pool.query(
      `INSERT INTO ${this.#name}.nodes (node, process, address, version, lease_ms)
        VALUES ($1, $2, $3, $4, $5) ON CONFLICT (node) DO NOTHING`,
      [node, process, address, version, leaseMs],
    );
    return rowCount === 1;
  }

  /** Gives the name up. */
  async leave(): Promise<void> {
    const { node, process } = this.#own;
    await this.#pool.query(`DELETE FROM ${this.#name}.nodes WHERE node = $1 AND process = $2`, [
      node,
      process,
    ]);
  }

  /** Begins to listen for beats anew: while this node heard nothing, nobody is found to have stopped. */
  forgetBeats(): void {
    this.#heard.clear();
    this.#silent = [];
  }

  /** A process whose beat has been the same for longer than its lease does not serve. */
  #isLive({ process, beat, lease_ms: leaseMs }: BeatRow): boolean {
    const now = performance.now();
    const heard = this.#heard.get(process);
    if (heard?.beat === beat) return now - heard.at <= leaseMs;
    this.#heard.set(process, { beat, at: now });
    return true;
  }
}
