/**
 * A deployment directory for one test or one suite: whatever the test writes, over a minimal
 * configuration and the real method catalog.
 */
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { stringify } from "smol-toml";
import { onTestFinished } from "vitest";
import { createDirectory, type Files, writeFiles } from "./directory.ts";

/** Files by name, relative to the deployment directory. */
export type DeploymentFiles = Files;

export interface TestDeployment {
  readonly directory: string;
  readonly configPath: string;
  remove(): void;
}

const REAL_CATALOG = resolve(import.meta.dirname, "../../catalog/methods.json");

/**
 * The configuration of a server called "test", with more tables or other keys. All that a suite asks
 * comes from one address, whose rate of work is limited only where a test says so.
 */
export function configFile(tables: Readonly<Record<string, object>> = {}): string {
  const { server = {}, limits = {}, ...others } = tables;
  return stringify({
    server: { server_id: "test", port: 0, ...server },
    ...others,
    limits: { work_ms_per_second: 0, ...limits },
  });
}

/** Writes a deployment that the caller removes, with a certificate as one has it that was started before. */
export function createDeployment(files: DeploymentFiles = {}): TestDeployment {
  const directory = createDirectory();
  const tls = join(directory, ".agtp/tls");
  mkdirSync(tls, { recursive: true, mode: 0o700 });
  cpSync(process.env["KEPT_TLS"] ?? "", tls, { recursive: true });
  cpSync(REAL_CATALOG, join(directory, "catalog/methods.json"), { recursive: true });
  writeFiles(directory, { "agtp-server.toml": configFile(), ...files });
  return {
    directory,
    configPath: join(directory, "agtp-server.toml"),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** Copies a deployment that lies in the project, so that nothing is written beside it. */
export function copyDeployment(source: string, files: DeploymentFiles = {}): TestDeployment {
  const deployment = createDeployment(files);
  const written = new Set(Object.keys(files).map((name) => join(deployment.directory, name)));
  cpSync(source, deployment.directory, {
    recursive: true,
    filter: (_, target) => !written.has(target),
  });
  return deployment;
}

/** Writes a deployment that is removed when the running test is over. */
export function makeDeployment(files: DeploymentFiles = {}): TestDeployment {
  const deployment = createDeployment(files);
  onTestFinished(() => deployment.remove());
  return deployment;
}

/** What a test says of an endpoint; the rest is filled in. */
export interface EndpointOptions {
  readonly method: string;
  readonly path: string;
  readonly tool?: string;
  /** Properties of the input schema; all optional unless `required` names them. */
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
  readonly output_schema?: object;
  readonly errors?: readonly string[];
  readonly required_scopes?: readonly string[];
  readonly deprecated?: object;
  /** The default answers with what the handler was called with: `handlers.echo`. */
  readonly handler?: object;
  readonly semantic?: object;
}

const SEMANTIC = {
  intent: "Do what the test asks for.",
  actor: "agent",
  outcome: "It is done.",
  capability: "transaction",
  confidence: 0.5,
  impact: "reversible",
  is_idempotent: false,
};

/** The text of an endpoint file. */
export function endpointFile(options: EndpointOptions): string {
  const { properties = {}, required = [], ...others } = options;
  return stringify({
    endpoint: {
      description: "An endpoint of a test.",
      errors: [],
      semantic: SEMANTIC,
      input_schema: { type: "object", properties, required, additionalProperties: false },
      output_schema: { type: "object" },
      handler: { type: "registered_function", function: "handlers.echo" },
      ...others,
    },
  });
}

/** What a test says of an agent. */
export interface AgentOptions {
  readonly agent_id: string;
  readonly name: string;
  readonly scopes_accepted?: readonly string[];
  readonly [member: string]: unknown;
}

/** The text of an identity document. */
export function agentFile(options: AgentOptions): string {
  return JSON.stringify({
    agtp_version: "1.0",
    description: `The test's ${options.name}.`,
    principal: "Test",
    principal_id: "test.example",
    issuer: "https://test.example",
    issued_at: "2026-01-01T00:00:00Z",
    status: "active",
    scopes_accepted: [],
    ...options,
  });
}

/** A handler module whose `echo` answers with what it was called with. */
export const ECHO_MODULE = `
export const echo = (call) => ({
  body: {
    input: call.input,
    method: call.method,
    path: call.path,
    requested_method: call.requestedMethod ?? null,
    query: call.query,
    agent_id: call.agentId ?? null,
    owner_id: call.ownerId ?? null,
    principal_id: call.principalId ?? null,
    scopes: call.scopes,
    trust_tier: call.trustTier ?? null,
    session_id: call.sessionId ?? null,
    task_id: call.taskId ?? null,
    request_id: call.requestId ?? null,
  },
});
`;
