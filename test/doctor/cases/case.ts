/** One deployment that a check finds something in, and the parts that such deployments are made of. */
import { makeCertificate } from "../../support/certificate.ts";
import { agentFile, ECHO_MODULE, endpointFile } from "../../support/deployment.ts";
import type { FindingJson, PatientOptions } from "../../support/doctor.ts";

export interface Case {
  readonly title: string;
  /** Of the check. */
  readonly id: string;
  readonly site: PatientOptions | (() => Promise<PatientOptions>);
  readonly found: Partial<FindingJson>;
}

export const DAY_MS = 86_400_000;
export const CONFIG = "agtp-server.toml";

/** What stands for a variable of the environment. */
export function variable(name: string): string {
  return `\${${name}}`;
}

/** A server with a certificate that is valid for so many days more. */
export async function withCertificate(
  days: number,
  more: PatientOptions = {},
  names: readonly string[] = ["agents.acme.example"],
): Promise<PatientOptions> {
  const { cert, key } = await makeServerCertificate(days, names);
  const tls = { cert: "tls/cert.pem", key: "tls/key.pem" };
  return {
    ...more,
    modes: { "tls/key.pem": 0o600, ...more.modes },
    files: { "tls/cert.pem": cert, "tls/key.pem": key, ...more.files },
    tables: { tls, server: { server_id: "agents.acme.example" }, ...more.tables },
  };
}

/** A certificate that is valid for so many days more, and its key. */
export function makeServerCertificate(
  days: number,
  names: readonly string[] = ["agents.acme.example"],
): ReturnType<typeof makeCertificate> {
  const now = Date.now();
  return makeCertificate({
    notBefore: new Date(now - 90 * DAY_MS),
    // A minute more, so that whole days are left while the test runs.
    notAfter: new Date(now + days * DAY_MS + 60_000),
    names,
  });
}

/** The file of an agent. */
export function agent(more: object = {}): Readonly<Record<string, string>> {
  const text = agentFile({ agent_id: "a1".repeat(32), name: "nora", ...more });
  return { "agents/nora.agent.json": text };
}

/** The files of an endpoint. */
export function endpoint(more: object = {}): Readonly<Record<string, string>> {
  const text = endpointFile({ method: "QUERY", path: "/facts", ...more });
  return { "endpoints/facts.toml": text, "handlers.mjs": ECHO_MODULE };
}

const UPSTREAM_ERRORS = [
  ...["upstream_timeout", "upstream_connection_error", "upstream_malformed_response"],
  ...["upstream_authentication_failed", "upstream_error"],
];

/** The files of an endpoint that calls an API with these header fields. */
export function upstream(headers: object): Readonly<Record<string, string>> {
  const url = "https://up.example/";
  const handler = { type: "external_service", url, method: "GET", headers };
  return endpoint({ errors: UPSTREAM_ERRORS, handler });
}

/** The tables of a server whose agents are believed as they say, with more about identities. */
export function identities(identity: object): Readonly<Record<string, object>> {
  return { policies: { identity } };
}

/** The same on every address of the machine. */
export function onNetwork(identity: object = {}): Readonly<Record<string, object>> {
  return {
    server: { server_id: "agents.acme.example", host: "0.0.0.0" },
    ...identities({ allow_unverified_identity: true, ...identity }),
  };
}
