/** The table of nodes: each node's process updates its row with heartbeats, by which the others see that it lives. */
import type { Pool } from "pg";
import type { NodeEntry } from "../state.ts";
import { again } from "./fault.ts";
import { SERVER } from "./feed.ts";

export interface OwnRow {
  readonly node: string;
  /** Unique to each process. */
  readonly process: string;
  readonly address: string;
  readonly version: string;
  readonly leaseMs: number;
}

/** A node at its last heartbeat. */
interface BeatRow {
  readonly node: string;
  readonly process: string;
  readonly beat: string;
  readonly lease_ms: number;
}

/** A node silent for this long, by the server's clock, is deleted. */
const GONE_AFTER = "1 hour";

/** The heartbeat under this node's name. */
interface OwnBeat {
  readonly beat: string;
  readonly leaseMs: number;
  /** True if it is older than two leases, so that its process is gone. */
  readonly isLate: boolean;
}

/** The table, as a process reads and writes it. */
export class NodeTable {
  readonly #pool: Pool;
  /** The schema, quoted. */
  readonly #name: string;
  readonly #own: OwnRow;
  /** The latest heartbeat of each process, and when it was first seen here. */
  readonly #heard = new Map<string, { readonly beat: string; readonly at: number }>();
  /** Other nodes without a heartbeat within their lease, as of the last beat. */
  #silent: readonly BeatRow[] = [];

  constructor(pool: Pool, name: string, own: OwnRow) {
    this.#pool = pool;
    this.#name = name;
    this.#own = own;
  }

  /** Returns the current heartbeat under the node's name, of any process. */
  async beatOfOwn(): Promise<OwnBeat | undefined> {
    const { rows } = await this.#pool.query<{ beat: string; lease_ms: number; late: boolean }>(
      `SELECT beat, lease_ms, beat_at < clock_timestamp() - lease_ms * interval '2 ms' AS late
        FROM ${this.#name}.nodes WHERE node = $1`,
      [this.#own.node],
    );
    const [row] = rows;
    return row && { beat: row.beat, leaseMs: row.lease_ms, isLate: row.late };
  }

  /** Takes the name, replacing any process. */
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
   * Deletes nodes that are long gone. As the server's clock may have been set, only nodes without a heartbeat here
   * are deleted.
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
   * Sends a heartbeat that reports transactions of a server as applied up to a number; returns the other live nodes.
   * Undefined if another process has the name.
   */
  async beat(taken: number, server: string): Promise<readonly BeatRow[] | undefined> {
    const { node, process } = this.#own;
    // Under a serializable default, two concurrent heartbeats exclude each other.
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
    // The row was deleted as long gone, or is missing in a replica that took over.
    if (rows.length === 0) return (await this.#enterAnew()) ? this.beat(taken, server) : undefined;
    const others = rows.filter((one) => one.node !== node);
    const processes = new Set(others.map((one) => one.process));
    for (const one of this.#heard.keys()) if (!processes.has(one)) this.#heard.delete(one);
    const live = new Set(others.filter((one) => this.#isLive(one)));
    this.#silent = others.filter((one) => !live.has(one));
    return [...live];
  }

  /** Returns the leases, in milliseconds, of nodes that have not applied a transaction. */
  async laggards(transaction: number): Promise<readonly number[]> {
    const { rows } = await this.#pool.query<BeatRow>(
      `SELECT node, process, beat, lease_ms FROM ${this.#name}.nodes
        WHERE node <> $1 AND taken < $2`,
      [this.#own.node, transaction],
    );
    const live = rows.filter((row) => this.#isLive(row));
    return live.map(({ lease_ms: leaseMs }) => leaseMs);
  }

  /** Returns the nodes seen lately. */
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

  /** Takes the name again if it is free. */
  async #enterAnew(): Promise<boolean> {
    const { node, process, address, version, leaseMs } = this.#own;
    const { rowCount } = await this.#pool.query(
      `INSERT INTO ${this.#name}.nodes (node, process, address, version, lease_ms)
        VALUES ($1, $2, $3, $4, $5) ON CONFLICT (node) DO NOTHING`,
      [node, process, address, version, leaseMs],
    );
    return rowCount === 1;
  }

  /** Releases the name. */
  async leave(): Promise<void> {
    const { node, process } = this.#own;
    await this.#pool.query(`DELETE FROM ${this.#name}.nodes WHERE node = $1 AND process = $2`, [
      node,
      process,
    ]);
  }

  /** Forgets heartbeats after a time without any answer, so that no node is considered gone for it. */
  forgetBeats(): void {
    this.#heard.clear();
    this.#silent = [];
  }

  /** A process whose heartbeat has not changed for its lease does not serve. */
  #isLive({ process, beat, lease_ms: leaseMs }: BeatRow): boolean {
    const now = performance.now();
    const heard = this.#heard.get(process);
    if (heard?.beat === beat) return now - heard.at <= leaseMs;
    this.#heard.set(process, { beat, at: now });
    return true;
  }
}
