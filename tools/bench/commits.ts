/** Measures commits in PostgreSQL: the duration of one, and the rate over several connections. */
import pg from "pg";

/** The maximum number of connections of a node. */
const CONNECTIONS = 8;
const COMMITS = 100;
const WINDOW_MS = 300;
/** About the length of a signed record. */
const RECORD: string = "x".repeat(1_100);

/** Measures commits of one row, about as long as a record. */
export interface Commits {
  /** The median duration of a commit, in microseconds. */
  medianMicros(): Promise<number>;
  /** The rate of all connections together. */
  perSecond(): Promise<number>;
  close(): Promise<void>;
}

/** Opens the connections, with a table of their own. */
export async function openCommits(url: string): Promise<Commits> {
  const clients = Array.from({ length: CONNECTIONS }, () => new pg.Client(url));
  for (const client of clients) {
    client.on("error", () => undefined);
    await client.connect();
  }
  const [first] = clients;
  if (first === undefined) throw new Error("no connection");
  await first.query("CREATE TABLE bench_commits (record text)");
  const commit = (client: pg.Client): Promise<unknown> =>
    client.query("INSERT INTO bench_commits VALUES ($1)", [RECORD]);
  return {
    medianMicros: async () => {
      const times: number[] = [];
      for (let count = 0; count < COMMITS; count += 1) {
        const began = performance.now();
        await commit(first);
        times.push((performance.now() - began) * 1_000);
      }
      return times.sort((left, right) => left - right)[COMMITS / 2] ?? Number.NaN;
    },
    perSecond: async () => {
      const began = performance.now();
      let made = 0;
      const go = async (client: pg.Client): Promise<void> => {
        for (; performance.now() - began < WINDOW_MS; made += 1) await commit(client);
      };
      await Promise.all(clients.map(go));
      return made / ((performance.now() - began) / 1_000);
    },
    close: async () => {
      await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
    },
  };
}
