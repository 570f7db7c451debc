/** One request and its response, as a command line of `agtp` says. */
import type { ClientRequest, ClientResponse } from "../../client/agtp-client.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import { isAccepted } from "../../client/response.ts";
import { type AgtpUri, parseUri } from "../../client/uri.ts";
import { askServer } from "../shell/ask-server.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";
import { agentPath, readRequest } from "./command-request.ts";
import { printEscalations } from "./escalation-report.ts";
import type { ExchangeLine } from "./exchange-options.ts";
import { printResponse } from "./report.ts";

/** Asks, prints the response and answers the exit code. */
export async function exchange(line: ExchangeLine, terminal: Terminal): Promise<number> {
  try {
    const uri = parseUri(line.uri);
    const request = await readRequest(line, uri, terminal);
    const response = await askServer(line, uri, terminal, (client) => client.request(request));
    checkAgent(uri, request, response);
    if (!printEscalations(response, line, terminal)) printResponse(response, line, terminal);
    return isAccepted(response.status) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof AgtpClientError)) throw error;
    terminal.err.write(`agtp: ${defuseLine(error.message)}${hint(error, line)}\n`);
    return 2;
  }
}

/** Form 1a: the host is only where to ask; a document of another agent must not pass for this one. */
function checkAgent(uri: AgtpUri, request: ClientRequest, { body }: ClientResponse): void {
  if (uri.agentId === undefined || request.path !== agentPath(uri)) return;
  if (typeof body !== "object" || body === null || !("agent_id" in body)) return;
  if (body.agent_id === uri.agentId) return;
  throw new AgtpClientError("ERR_AGTP_RESPONSE", "the document is of another agent than asked for");
}

function hint(error: AgtpClientError, { ca, insecure }: ExchangeLine): string {
  const isUntrusted = error.code === "ERR_AGTP_TLS" && ca === undefined && !insecure;
  return isUntrusted
    ? "\n      (name its authority with --ca FILE, or trust it with --insecure)"
    : "";
}
