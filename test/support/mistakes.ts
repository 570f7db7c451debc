/** A deployment with one endpoint, one handler and one agent, in which a test makes one mistake. */
import { checkDeployment } from "../../src/app/daemon.ts";
import { createLog } from "../../src/base/log.ts";
import { formatProblem } from "../../src/base/problem.ts";
import type { TestCertificate } from "./certificate.ts";
import {
  agentFile,
  configFile,
  type DeploymentFiles,
  type EndpointOptions,
  endpointFile,
  makeDeployment,
} from "./deployment.ts";

/** The errors of whatever has an upstream. */
export const UPSTREAM_ERRORS: readonly string[] = [
  ...["upstream_timeout", "upstream_connection_error", "upstream_malformed_response"],
  ...["upstream_authentication_failed", "upstream_error"],
];

/** The endpoint without a mistake; its handler is `endpoints.rooms.book`. */
export const ENDPOINT: EndpointOptions = {
  ...{ method: "BOOK", path: "/rooms/{room}", required_scopes: ["rooms:book"] },
  properties: { room: { type: "string" } },
  required: ["room"],
  handler: { type: "registered_function", function: "endpoints.rooms.book" },
};

/** A handler that calls an API, of an endpoint that declares what such may answer. */
export function external(more: object): DeploymentFiles {
  const handler = {
    ...{ type: "external_service", url: "https://api.example/rooms/{room}", method: "GET" },
    ...more,
  };
  return endpoint({ errors: UPSTREAM_ERRORS, handler });
}

/** The endpoint with a mistake in it. */
export function endpoint(more: object): DeploymentFiles {
  return { "endpoints/book.toml": endpointFile({ ...ENDPOINT, ...more }) };
}

/** The configuration with other tables. */
export function config(tables: Readonly<Record<string, object>>): DeploymentFiles {
  return { "agtp-server.toml": configFile(tables) };
}

/** A configuration whose certificate and key are files. */
export function certified({ cert, key }: TestCertificate): DeploymentFiles {
  return {
    ...config({ tls: { cert: "tls/cert.pem", key: "tls/key.pem" } }),
    "tls/cert.pem": cert,
    "tls/key.pem": key,
  };
}

/** The lines of `agtpd --check` over the deployment with these files. */
export async function checkWith(files: DeploymentFiles): Promise<readonly string[]> {
  const { configPath } = makeDeployment({
    "endpoints/book.toml": endpointFile(ENDPOINT),
    "endpoints/rooms.mjs": "export const book = () => ({ body: {} });\n",
    "agents/guide.agent.json": agentFile({ agent_id: "a".repeat(64), name: "guide" }),
    ...files,
  });
  const log = createLog("silent", { write: () => undefined, flush: () => Promise.resolve() });
  return (await checkDeployment({ configPath, env: {}, log })).map(formatProblem);
}
