/** AGNTCY agents of tests: a manifest in each shape, a server behind it, and a daemon in front. */
import { onTestFinished } from "vitest";
import { type AcpOptions, type AcpServer, startAcpServer } from "./acp-server.ts";
import { openDaemon, type RawClient, type TestDaemon } from "./daemon.ts";
import { agentFile, configFile, type DeploymentFiles } from "./deployment.ts";
import { encodeRequest, type TestReply, type TestRequest } from "./dispatch.ts";

/** Two callers that hold what the agents' endpoints require. */
export const MAYA: string = "1".repeat(64);
export const LEO: string = "2".repeat(64);
/** One that sees everything. */
export const OLGA: string = "3".repeat(64);

const SCOPES = ["mailcomposer:execute"];

/** What the sample agent of the AGNTCY documents takes and gives. */
export const MAIL_SPECS: {
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly [section: string]: unknown;
} = {
  capabilities: { threads: true, interrupts: true, callbacks: true, streaming: { values: true } },
  input: {
    type: "object",
    description: "Agent Input",
    properties: { message: { type: "string", description: "Last message of the chat" } },
  },
  thread_state: {
    type: "object",
    properties: { messages: { type: "array", items: { type: "string" } } },
  },
  output: { type: "object", properties: { message: { type: "string" } } },
  config: {
    type: "object",
    properties: { style: { type: "string", enum: ["formal", "friendly"] } },
  },
  interrupts: [
    {
      interrupt_type: "mail_send_approval",
      "x-agtp-asks": "agent",
      interrupt_payload: {
        type: "object",
        properties: { subject: { type: "string" }, body: { type: "string" } },
        required: ["subject", "body"],
      },
      resume_payload: {
        type: "object",
        properties: { reason: { type: "string" }, approved: { type: "boolean" } },
        required: ["approved"],
      },
    },
  ],
};

export interface ManifestOptions {
  readonly name?: string;
  readonly version?: string;
  readonly specs?: object;
  readonly options?: readonly object[];
  readonly dependencies?: readonly object[];
  readonly environment?: readonly object[];
}

/** A service at a URL. */
export function remote(url: string, more: object = {}): object {
  return { type: "remote_service", protocol: { type: "ACP", url, ...more } };
}

export const SOURCE: object = {
  type: "source_code",
  name: "src",
  url: "git@github.com:agntcy/mailcomposer.git",
  framework_config: { framework_type: "langgraph", graph: "mailcomposer" },
};

const NAME = "org.agntcy.mailcomposer";

/** As the published samples are. */
export function agentManifest(given: ManifestOptions): Record<string, unknown> {
  const { name = NAME, version = "0.0.1", specs = MAIL_SPECS, options = [SOURCE] } = given;
  return {
    metadata: { ref: { name, version }, description: "Composes mails." },
    specs,
    deployments: options,
    dependencies: given.dependencies ?? [],
    ...(given.environment === undefined ? {} : { env_vars: given.environment }),
  };
}

/** As the workflow server's first schema has it. */
export function deploymentManifest(given: ManifestOptions): Record<string, unknown> {
  const { name = NAME, version = "0.0.1", specs = MAIL_SPECS, options = [SOURCE] } = given;
  return {
    metadata: { ref: { name, version, url: null }, description: "Composes mails." },
    specs,
    deployment: {
      deployment_options: options,
      env_vars: given.environment ?? [],
      dependencies: given.dependencies ?? [],
    },
  };
}

/** As an OASF record. */
export function oasfRecord(given: ManifestOptions): Record<string, unknown> {
  const { name = NAME, version = "0.0.1", specs = MAIL_SPECS, options = [SOURCE] } = given;
  return {
    ...{ name, version, schema_version: "0.3.1", description: "Composes mails." },
    authors: ["Acme"],
    skills: [{ class_uid: 10201 }],
    locators: [{ type: "source-code", url: "https://github.com/agntcy/agentic-apps" }],
    created_at: "2025-05-21T00:00:00Z",
    extensions: [
      { name: "acme.example/other", data: {} },
      {
        name: "schema.oasf.agntcy.org/features/runtime/manifest",
        version: "v0.0.1",
        data: {
          acp: specs,
          deployment: {
            deployment_options: options,
            env_vars: given.environment ?? [],
            agent_deps: given.dependencies ?? [],
          },
        },
      },
    ],
  };
}

export interface HostedOptions {
  /** Keys of `[[agntcy]]`. */
  readonly settings?: object;
  readonly manifest?: (url: string) => object;
  readonly files?: DeploymentFiles;
  readonly tables?: Readonly<Record<string, object>>;
  readonly env?: Readonly<Record<string, string>>;
}

/** The files of a deployment in front of an agent's server. */
export function hostedFiles(server: AcpServer, options: HostedOptions = {}): DeploymentFiles {
  const { settings = {}, tables = {}, files = {} } = options;
  const manifest =
    options.manifest?.(server.url) ?? agentManifest({ options: [remote(server.url)] });
  const agent = (agent_id: string, name: string, scopes_accepted: readonly string[]): string =>
    agentFile({ agent_id, name, scopes_accepted });
  return {
    "agtp-server.toml": configFile({
      agntcy: [
        {
          ...{ manifest: "agents/agntcy/mail.json", base: "/mailcomposer", ca: "ca.pem" },
          ...{ required_scopes: SCOPES, agent_answers: true, ...settings },
        },
      ],
      ...tables,
    }),
    "ca.pem": server.ca,
    "agents/agntcy/mail.json": JSON.stringify(manifest),
    "agents/maya.agent.json": agent(MAYA, "maya", SCOPES),
    "agents/leo.agent.json": agent(LEO, "leo", SCOPES),
    "agents/olga.agent.json": agent(OLGA, "olga", [...SCOPES, "inspect:all"]),
    ...files,
  };
}

/** A server of the running test. */
export async function openAcp(options: Partial<AcpOptions> = {}): Promise<AcpServer> {
  const server = await startAcpServer({ specs: MAIL_SPECS, ...options });
  onTestFinished(() => server.close());
  return server;
}

/** Asks as an agent, on a connection of its own kind. */
export type Ask = (agentId: string, request: TestRequest) => Promise<TestReply>;

/** A daemon in front of a server. */
export async function openHosted(
  server: AcpServer,
  options: HostedOptions = {},
): Promise<{ readonly ask: Ask; readonly daemon: TestDaemon }> {
  const daemon = await openDaemon(hostedFiles(server, options), options.env);
  return { ask: askThrough(await daemon.connect()), daemon };
}

/** One request after another on a connection. */
export function askThrough(client: RawClient): Ask {
  let count = 0;
  return async (agentId, request) => {
    count += 1;
    const mine = count;
    client.write(
      encodeRequest({ ...request, headers: { "Agent-ID": agentId, ...request.headers } }),
    );
    const reply = (await client.replies(mine))[mine - 1];
    if (reply === undefined) throw new Error("the connection was closed");
    return reply;
  };
}

/** EXECUTE with a message. */
export function execute(body: object = {}): TestRequest {
  const given = { input: { message: "hi" }, wait_seconds: 10, ...body };
  return { method: "EXECUTE", path: "/mailcomposer", body: given };
}

export function query(runId: unknown, below = ""): TestRequest {
  return { method: "QUERY", path: `/mailcomposer/runs/${runId}${below}` };
}

export function confirm(runId: unknown, body: object): TestRequest {
  return { method: "CONFIRM", path: `/mailcomposer/runs/${runId}`, body };
}
