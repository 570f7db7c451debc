/**
 * A server whose calls wait for operators: what they book is written to a file, one line a call that
 * was begun, so that a test counts what ran, and not what was answered.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Peer } from "../../src/dispatch/caller/peer.ts";
import type { ClientCertificate } from "../../src/identity/client-certificate.ts";
import { makeCertificate as makeCa } from "./certificate.ts";
import { agentFile, configFile, type EndpointOptions, endpointFile } from "./deployment.ts";
import type { TestReply, TestRequest } from "./dispatch.ts";
import { AGENT } from "./genesis.ts";
import { makeCertificate } from "./hosted-agents.ts";
import { type Answering, askAs, confirmation } from "./waiting.ts";

/** Holds what the endpoints ask for. */
export const ALMA: string = "a1".repeat(32);
/** As Alma, but another agent. */
export const BORIS: string = "b2".repeat(32);
/** Sees everybody's, and is no operator. */
export const OLGA: string = "0a".repeat(32);

/** The key of this certificate is an operator's. */
export const operator: ClientCertificate = makeCertificate({ key: AGENT });
/** The connection of an operator. */
export const OPERATOR: Partial<Peer> = { certificate: operator };

const HANDLERS = `
import { appendFileSync } from "node:fs";
import { join } from "node:path";
const note = (line) => appendFileSync(join(import.meta.dirname, "ran.log"), line + "\\n");
export const book = ({ input }) => {
  note("book " + input.room + " " + (input.guest ?? ""));
  return { body: { booked: input.room } };
};
export const slow = async ({ input, signal, log }) => {
  note("slow " + input.room);
  log.info({ event: "begun" }, "begun");
  await new Promise((resolve) => {
    const timer = setTimeout(resolve, 60_000);
    signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); });
  });
  return { body: {} };
};
export const fail = ({ input }) => {
  note("fail " + input.room);
  return { error: "room_unavailable" };
};
export const throwing = ({ input }) => {
  note("throwing " + input.room);
  throw new Error("broken");
};
export const look = () => {
  note("look");
  return { body: { free: true } };
};
export const relay = async (call) => {
  note("relay");
  const { status, body } = await call.dispatch(call.input.method, call.input.path, call.input.input);
  return { status: 200, body: { status, body: body ?? null } };
};
`;

/** An endpoint of that server. */
export function approvedEndpoint(
  options: EndpointOptions & { readonly approval?: string },
  impact = "irreversible",
): string {
  return endpointFile({
    ...{ properties: { room: { type: "string" }, guest: { type: "string" } }, required: ["room"] },
    semantic: {
      ...{ intent: "Do what the test asks for.", actor: "agent", outcome: "It is done." },
      ...{ capability: "transaction", confidence: 0.5, impact, is_idempotent: false },
    },
    ...options,
  });
}

function registered(name: string): object {
  return { type: "registered_function", function: `handlers.${name}` };
}

const AGENTS = {
  alma: { agent_id: ALMA, scopes_accepted: ["booking:room", "rcns:negotiate"] },
  boris: { agent_id: BORIS, scopes_accepted: ["booking:room"] },
  olga: { agent_id: OLGA, scopes_accepted: ["inspect:all", "booking:room"] },
};

/** The files of that server; BOOK asks for an approval by itself, everything else by `approvals`. */
export async function approvingFiles(
  approvals: readonly object[] = [],
  tables: Readonly<Record<string, object>> = {},
): Promise<Readonly<Record<string, string>>> {
  const { policies = {}, ...others } = tables;
  const { identity = {}, ...rest } = policies as { readonly identity?: object };
  const operators = { operator_certificates: [operator.spkiFingerprint] };
  const known = { inspect_acl: "public", ...operators, ...identity };
  return {
    "agtp-server.toml": configFile({
      tls: { client_auth: "optional", client_ca: "ca.pem" },
      policies: { ...rest, identity: known, ...(approvals.length === 0 ? {} : { approvals }) },
      ...others,
    }),
    "ca.pem": (await makeCa()).cert,
    "handlers.mjs": HANDLERS,
    "endpoints/book.toml": approvedEndpoint({
      ...{ method: "BOOK", path: "/rooms/{room}", approval: "operator" },
      ...{ required_scopes: ["booking:room"], handler: registered("book") },
    }),
    "endpoints/slow.toml": approvedEndpoint({
      ...{ method: "BOOK", path: "/slow/{room}", approval: "operator" },
      handler: registered("slow"),
    }),
    "endpoints/fail.toml": approvedEndpoint({
      ...{ method: "BOOK", path: "/full/{room}", approval: "operator" },
      ...{ errors: ["room_unavailable"], handler: registered("fail") },
    }),
    "endpoints/throwing.toml": approvedEndpoint({
      ...{ method: "BOOK", path: "/broken/{room}", approval: "operator" },
      handler: registered("throwing"),
    }),
    "endpoints/reserve.toml": approvedEndpoint({
      ...{ method: "RESERVE", path: "/rooms/{room}", handler: registered("book") },
      required_scopes: ["booking:room"],
    }),
    "endpoints/look.toml": approvedEndpoint(
      { method: "QUERY", path: "/free/{room}", handler: registered("look") },
      "informational",
    ),
    "endpoints/relay.toml": approvedEndpoint(
      {
        ...{ method: "CREATE", path: "/relays", handler: registered("relay"), required: [] },
        properties: {
          ...{ method: { type: "string" }, path: { type: "string" }, input: { type: "object" } },
        },
      },
      "reversible",
    ),
    ...Object.fromEntries(
      Object.entries(AGENTS).map(([name, agent]) => [
        `agents/${name}.agent.json`,
        agentFile({ name, ...agent }),
      ]),
    ),
  };
}

/** BOOK of a room. */
export function booking(room: string, changes: Partial<TestRequest> = {}): TestRequest {
  return { method: "BOOK", path: `/rooms/${room}`, body: { guest: "Ada" }, ...changes };
}

/** The same request with an approval. */
export function under(escalationId: string, request: TestRequest): TestRequest {
  return { ...request, headers: { ...request.headers, "Escalation-ID": escalationId } };
}

/** Asks for an approval, and answers its id. */
export async function questionOf(
  server: Answering,
  request: TestRequest,
  agentId: string = ALMA,
): Promise<string> {
  const reply = await askAs(server, agentId, request);
  const code = reply.body["error"]?.["code"];
  if (reply.status !== 262 || String(code) !== "approval-required") {
    throw new Error(`answered ${reply.status}: ${reply.text}`);
  }
  return String(reply.body["escalation_id"]);
}

/** CONFIRM by an operator's certificate. */
export function decide(server: Answering, id: string, status: string): Promise<TestReply> {
  return askAs(server, undefined, confirmation(id, status), OPERATOR);
}

/** Asks for an approval and has it given. */
export async function approvedFor(
  server: Answering,
  request: TestRequest,
  agentId: string = ALMA,
): Promise<string> {
  const id = await questionOf(server, request, agentId);
  const { status, text } = await decide(server, id, "accepted");
  if (status !== 200) throw new Error(`the decision was answered ${status}: ${text}`);
  return id;
}

/** What was begun, a line a call. */
export function ranIn({ directory }: { readonly directory: string }): readonly string[] {
  const file = join(directory, "ran.log");
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
}
