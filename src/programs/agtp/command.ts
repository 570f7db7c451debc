/**
 * `agtp`: one request, one response. The exit code is 0 when the server did or accepted what it was
 * asked, 1 when it answered otherwise, 2 when there was no answer to be had.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isLoopbackHost } from "../../base/loopback.ts";
import type { ClientOptions, ClientRequest, ClientResponse } from "../../client/agtp-client.ts";
import { createClient } from "../../client/client.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import { isAccepted } from "../../client/response.ts";
import { type AgtpUri, parseUri } from "../../client/uri.ts";
import { readText, usage } from "../shell/command-file.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";
import { type CommandLine, parseCommandLine } from "./command-line.ts";
import { agentPath, readRequest } from "./command-request.ts";
import { printEscalations } from "./escalation-report.ts";
import { parseOperatorLine } from "./operator-line.ts";
import { printResponse } from "./report.ts";

/** The flags about TLS, as written. */
export type TrustFlags = Pick<CommandLine, "ca" | "insecure" | "cert" | "key">;

/** Where a daemon that made its own certificate puts it. */
const LOCAL_CERTIFICATE = ".agtp/tls/cert.pem";

/** Runs the program and answers its exit code. */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  const line = parseOperatorLine(args, terminal) ?? parseCommandLine(args, terminal);
  if (line.kind === "end") return line.exitCode;
  try {
    const uri = parseUri(line.uri);
    const request = await readRequest(line, uri, terminal);
    const response = await ask(readOptions(line, uri, terminal), request);
    checkAgent(uri, request, response);
    if (!printEscalations(response, line, terminal)) printResponse(response, line, terminal);
    return isAccepted(response.status) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof AgtpClientError)) throw error;
    terminal.err.write(`agtp: ${defuseLine(error.message)}${hint(error, line)}\n`);
    return 2;
  }
}

async function ask(options: ClientOptions, request: ClientRequest): Promise<ClientResponse> {
  const client = createClient(options);
  try {
    return await client.request(request);
  } finally {
    await client.close();
  }
}

/** Whom to ask and whom to trust, as flags say it. */
export function readOptions(
  line: TrustFlags,
  uri: Pick<AgtpUri, "host" | "port">,
  terminal: Pick<Terminal, "directory">,
): ClientOptions {
  const { host, port } = uri;
  if (line.ca !== undefined && line.insecure) throw usage("expected --ca or --insecure, got both");
  if ((line.cert === undefined) !== (line.key === undefined)) {
    throw usage("expected --cert and --key together");
  }
  const { directory } = terminal;
  const read = (file: string | undefined): string | undefined =>
    file === undefined ? undefined : readText(directory, file);
  const hasLocal =
    !line.insecure && isLoopbackHost(host) && existsSync(resolve(directory, LOCAL_CERTIFICATE));
  return {
    host,
    port,
    rejectUnauthorized: line.insecure !== true,
    ca: read(line.ca ?? (hasLocal ? LOCAL_CERTIFICATE : undefined)),
    cert: read(line.cert),
    key: read(line.key),
  };
}

/** Form 1a: the host is only where to ask; a document of another agent must not pass for this one. */
function checkAgent(uri: AgtpUri, request: ClientRequest, { body }: ClientResponse): void {
  if (uri.agentId === undefined || request.path !== agentPath(uri)) return;
  if (typeof body !== "object" || body === null || !("agent_id" in body)) return;
  if (body.agent_id === uri.agentId) return;
  throw new AgtpClientError("ERR_AGTP_RESPONSE", "the document is of another agent than asked for");
}

function hint(error: AgtpClientError, line: CommandLine): string {
  const isUntrusted = error.code === "ERR_AGTP_TLS" && line.ca === undefined && !line.insecure;
  return isUntrusted
    ? "\n      (name its authority with --ca FILE, or trust it with --insecure)"
    : "";
}
