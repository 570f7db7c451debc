/** Asking a server what it knows, in the words of a test. */
import type { Peer } from "../../src/dispatch/caller/peer.ts";
import type { TestReply, TestServer } from "./dispatch.ts";

/** What tests look at of a result. */
export interface QueriedResult {
  readonly rank: number;
  readonly kind: string;
  readonly source: string;
  readonly confidence: number;
  readonly method?: string;
  readonly path?: string;
  readonly content: QueriedContent;
}

/** The members that tests look at. */
interface QueriedContent {
  readonly method: string;
  readonly path: string;
  readonly description: string;
  readonly semantic: object;
  readonly input_schema: Readonly<Record<string, unknown>>;
  readonly output_schema: Readonly<Record<string, unknown>>;
  readonly required_scopes: readonly string[];
  readonly tier: string;
  readonly callable: boolean;
  readonly missing_scopes: readonly string[];
  readonly obstacles: readonly string[];
  readonly example?: {
    readonly method: string;
    readonly path: string;
    readonly body: Readonly<Record<string, unknown>>;
  };
  readonly agent_id?: string;
}

/** Who asks; nobody in particular without an agent. */
export interface TestAsker {
  readonly agent?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly peer?: Partial<Peer>;
}

/** Sends a request of an asker on "/". */
export function ask(
  server: TestServer,
  method: string,
  body: object,
  { agent, headers = {}, peer = {} }: TestAsker = {},
): Promise<TestReply> {
  const identity = agent === undefined ? {} : { "Agent-ID": agent };
  return server.send({ method, headers: { ...identity, ...headers }, body }, peer);
}

/** The results of QUERY. */
export async function query(
  server: TestServer,
  body: object,
  asker: TestAsker = {},
): Promise<readonly QueriedResult[]> {
  const reply = await ask(server, "QUERY", body, asker);
  if (reply.status !== 200) throw new Error(reply.text);
  return reply.body["result"]?.["results"] as unknown as readonly QueriedResult[];
}

/** The sources of the results of QUERY. */
export async function sourcesOf(
  server: TestServer,
  body: object,
  asker: TestAsker = {},
): Promise<readonly string[]> {
  return (await query(server, body, asker)).map(({ source }) => source);
}

/** A candidate of DISCOVER. */
export type Candidate = Readonly<Record<string, unknown>>;

/** The candidates of DISCOVER by criteria. */
export async function discoverBy(
  server: TestServer,
  body: object,
  asker: TestAsker = {},
): Promise<readonly Candidate[]> {
  const reply = await ask(server, "DISCOVER", body, asker);
  if (reply.status !== 200) throw new Error(reply.text);
  return reply.body["result"]?.["candidates"] as unknown as readonly Candidate[];
}
