/** A daemon that negotiates contracts with MCP clients, each of which is an agent by its token. */
import type { Client } from "@modelcontextprotocol/client";
import type { DeploymentFiles } from "./deployment.ts";
import { withGateway } from "./gateway.ts";
import { connectMcp, type McpVersion, openMcp, postMcp, type TestMcp } from "./mcp.ts";
import { NORA, negotiationFiles } from "./negotiation.ts";
import { type IssuerKey, makeIssuerKey, signToken } from "./token-issuer.ts";

const ISSUER = "https://id.example";

/** The user of a client, and what it was asked. */
export interface TestUser {
  readonly asked: string[];
  /** Undefined: the client cannot ask it. */
  answer: "accept" | "decline" | "cancel" | undefined;
}

/** Who connects. */
interface Connecting {
  readonly agentId?: string;
  readonly scopes?: string;
  readonly onToolsChanged?: () => void;
}

/** The daemon, and its clients. */
export interface NegotiatingMcp extends TestMcp {
  tokenOf(agentId: string, claims?: Record<string, unknown>): Promise<string>;
  connectUser(version: McpVersion, user: TestUser, connecting?: Connecting): Promise<Client>;
  /** Begins a stream of the current protocol as Nora. */
  listen(params: Readonly<Record<string, unknown>>): Promise<TestStream>;
  /** Sends a message of the current protocol as an agent. */
  post(
    method: string,
    params: Readonly<Record<string, unknown>>,
    setup?: { readonly agentId?: string; readonly capabilities?: object },
  ): Promise<Record<string, Record<string, unknown>>>;
}

/** A stream, or the answer in its place. */
interface TestStream {
  readonly type: string | null;
  leave(): void;
}

/** The files of it; tables are merged over its own. */
function negotiatingFiles(
  jwks: IssuerKey["jwk"],
  tables: Readonly<Record<string, object>> = {},
): Readonly<Record<string, string>> {
  const { policies = {}, ...others } = tables;
  const oauth = { issuer: ISSUER, jwks_file: "jwks.json", agent_claim: "agent" };
  const files = negotiationFiles(
    withGateway({
      ...{ gateway: { agent: "nora" }, mcp: { enabled: true }, ...others },
      policies: { oauth, ...policies },
    }),
  );
  return { ...files, "jwks.json": JSON.stringify({ keys: [jwks] }) };
}

/** Starts the daemon for the running test. */
export async function openNegotiating(
  tables: Readonly<Record<string, object>> = {},
  files: DeploymentFiles = {},
): Promise<NegotiatingMcp> {
  const key = await makeIssuerKey();
  const server = await openMcp({ ...negotiatingFiles(key.jwk, tables), ...files });
  const tokenOf = (agent: string, claims: Record<string, unknown> = {}): Promise<string> => {
    const exp = Math.floor(Date.now() / 1000) + 600;
    return signToken(key, { iss: ISSUER, sub: "ada", exp, aud: server.url.href, agent, ...claims });
  };
  return {
    ...server,
    tokenOf,
    connectUser: async (version, user, connecting = {}) => {
      const { agentId = NORA, scopes, onToolsChanged } = connecting;
      const token = await tokenOf(agentId, scopes === undefined ? {} : { scope: scopes });
      return connectMcp(server.url, version, {
        token,
        options: {
          capabilities: user.answer === undefined ? {} : { elicitation: {} },
          ...(onToolsChanged === undefined
            ? {}
            : {
                listChanged: {
                  tools: { autoRefresh: false, debounceMs: 0, onChanged: onToolsChanged },
                },
              }),
        },
        prepare: (client) => {
          if (user.answer === undefined) return;
          client.setRequestHandler("elicitation/create", ({ params }) => {
            user.asked.push(params.message);
            return { action: user.answer ?? "cancel" };
          });
        },
      });
    },
    listen: async (params) => {
      const setup = { token: await tokenOf(NORA) };
      const response = await postMcp(server, "subscriptions/listen", params, setup);
      const type = response.headers.get("content-type");
      // A signal has no effect once the request is collected; the body has.
      return { type, leave: () => void response.body?.cancel() };
    },
    post: async (method, params, { agentId = NORA, capabilities } = {}) => {
      const setup = { token: await tokenOf(agentId), ...(capabilities && { capabilities }) };
      const response = await postMcp(server, method, params, setup);
      return (await response.json()) as Record<string, Record<string, unknown>>;
    },
  };
}
