/** Deployments whose agents hand tasks on to one another. */
import { agentFile, configFile, type DeploymentFiles, endpointFile } from "./deployment.ts";
import type { TestBody, TestReply, TestServer } from "./dispatch.ts";
import { keyOf, type TestKey } from "./genesis.ts";

export const ALICE: string = "a".repeat(64);
export const BOB: string = "b".repeat(64);
export const CAROL: string = "c".repeat(64);
/** May not delegate, and takes nothing. */
export const DAVE: string = "d".repeat(64);
/** In a governance zone. */
export const ZOE: string = "f".repeat(64);

const HANDLERS = `
const seen = [];
export const book = ({ input, agentId, scopes, taskId }) => {
  seen.push(input);
  return input.nights > 9
    ? { error: "room_unavailable", message: "no room", details: {} }
    : { body: { booked: input.nights ?? 1, agent: agentId, scopes, task: taskId ?? null } };
};
export const begin = ({ input }) => ({ status: input.status, body: { ticket: 7 } });
export const count = () => ({ body: { count: seen.length } });
export const wait = ({ signal }) =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve({ body: {} })));
const outcomes = [];
export const receive = ({ input, agentId }) => {
  outcomes.push({ ...input, agent: agentId });
  return { body: { taken: true } };
};
export const outcomes_of = () => ({ body: { outcomes } });
`;

const text = { type: "string" };
const any = {};

/** The files of a deployment with everything that tasks are made of. */
export function delegationFiles(
  tables: Readonly<Record<string, object>> = {},
  files: DeploymentFiles = {},
): DeploymentFiles {
  const handled = (name: string) => ({
    handler: { type: "registered_function", function: `handlers.${name}` },
  });
  const agent = (name: string, id: string, more: object = {}) =>
    agentFile({ agent_id: id, name, scopes_accepted: ["booking:*", "documents:read"], ...more });
  return {
    "agtp-server.toml": configFile(tables),
    "handlers.mjs": HANDLERS,
    "endpoints/book.toml": endpointFile({
      ...{ method: "BOOK", path: "/rooms", required_scopes: ["booking:room"] },
      properties: { nights: { type: "integer" } },
      errors: ["room_unavailable"],
      ...handled("book"),
    }),
    "endpoints/begin.toml": endpointFile({
      ...{ method: "EXECUTE", path: "/tickets" },
      properties: { status: { type: "integer" } },
      ...handled("begin"),
    }),
    "endpoints/count.toml": endpointFile({ method: "QUERY", path: "/counts", ...handled("count") }),
    "endpoints/wait.toml": endpointFile({ method: "EXECUTE", path: "/waits", ...handled("wait") }),
    "endpoints/receive.toml": endpointFile({
      ...{ method: "RECEIVE", path: "/outcomes" },
      properties: {
        ...{ delegation_id: text, target_agent_id: text, task_id: text, status: any, result: any },
        ...{
          error: any,
          reason: text,
          explanation: text,
          outcome: text,
          sub_agent: any,
          peer: any,
        },
        ...{ link: any, deadline: text },
      },
      ...handled("receive"),
    }),
    "endpoints/outcomes.toml": endpointFile({
      ...{ method: "QUERY", path: "/outcomes" },
      ...handled("outcomes_of"),
    }),
    "agents/alice.agent.json": agent("alice", ALICE),
    "agents/bob.agent.json": agent("bob", BOB, { scopes_accepted: [] }),
    "agents/carol.agent.json": agent("carol", CAROL, { scopes_accepted: ["documents:read"] }),
    "agents/dave.agent.json": agent("dave", DAVE, { delegation_permitted: false }),
    "agents/zoe.agent.json": agent("zoe", ZOE, { governance_zone: "zone:eu" }),
    ...files,
  };
}

/** BOOK /rooms, as a task. */
export const BOOKING = { method: "BOOK", path: "/rooms", parameters: { nights: 2 } };

/** What a test says of a delegation. */
export interface Delegated {
  readonly target?: string;
  readonly task?: unknown;
  readonly scopes?: unknown;
  readonly more?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The body of a DELEGATE; alice hands a booking on to bob unless told otherwise. */
export function delegation({ target = BOB, task = BOOKING, scopes, more }: Delegated = {}): object {
  const authority_scope = scopes ?? ["booking:room"];
  return { target_agent_id: target, task, authority_scope, ...more };
}

/** DELEGATE in process. */
export function delegate(server: TestServer, delegated: Delegated = {}): Promise<TestReply> {
  const headers = { "Agent-ID": ALICE, ...delegated.headers };
  return server.send({ method: "DELEGATE", headers, body: delegation(delegated) });
}

/** What is said of a refusal. */
export function refusalOf({ status, body }: TestReply): readonly [number, TestBody, TestBody] {
  return [status, body["error"]?.["code"] as TestBody, body["reason"] as TestBody];
}

/** The key of a server, from a seed. */
export function serverKey(seed: number): TestKey & { readonly privatePem: string } {
  const key = keyOf(seed);
  const privatePem = String(key.privateKey.export({ type: "pkcs8", format: "pem" }));
  return { ...key, privatePem };
}
