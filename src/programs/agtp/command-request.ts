/**
 * The request that a command line of `agtp` asks for: its method and target from the URI and the
 * arguments, its parameters from an argument, a file or standard input.
 */
import { reasonOf } from "../../base/thrown.ts";
import type { ClientRequest } from "../../client/agtp-client.ts";
import type { AgtpUri } from "../../client/uri.ts";
import type { HeaderField } from "../../wire/message.ts";
import { readText, usage } from "../shell/command-file.ts";
import type { Terminal } from "../shell/terminal.ts";
import type { ExchangeLine } from "./exchange-options.ts";

/** Throws ERR_AGTP_REQUEST for what cannot be meant. */
export async function readRequest(
  line: ExchangeLine,
  uri: AgtpUri,
  terminal: Terminal,
): Promise<ClientRequest> {
  const data = line.data === undefined ? undefined : await readData(line.data, terminal);
  const named = agentPath(uri);
  return {
    method: line.method ?? (named === undefined ? "DISCOVER" : "DESCRIBE"),
    ...readTarget(line, uri, named),
    headers: line.header.map(readHeader),
    agentId: line.agentId,
    ownerId: line.ownerId,
    scopes: line.scope?.split(",").map((scope) => scope.trim()),
    // As written: reading and writing it again could change a number.
    ...(line.envelope ? { parameters: data?.value, envelope: true } : { body: data?.text }),
  };
}

function readTarget(
  line: ExchangeLine,
  uri: AgtpUri,
  named: string | undefined,
): Pick<ClientRequest, "path" | "query"> {
  if (line.path === undefined) return { path: uri.path ?? named, query: uri.query };
  if (named === undefined && (uri.path !== undefined || uri.query !== undefined)) {
    throw usage("expected a path in the URI or behind the method, got both");
  }
  return { path: line.path };
}

/**
 * The path by which an agent that the URI names is asked for.   AGTP "URI Scheme", Forms 1a, 3 and 4
 */
export function agentPath({ agentId, agentName, path }: AgtpUri): string | undefined {
  if (agentName !== undefined) return path;
  return agentId === undefined || path !== undefined ? undefined : `/agents/${agentId}`;
}

async function readData(
  written: string,
  terminal: Terminal,
): Promise<{ readonly text: string; readonly value: unknown }> {
  const text = await readDataText(written, terminal);
  try {
    return { text, value: JSON.parse(text) };
  } catch (error) {
    throw usage(`the parameters are no JSON: ${reasonOf(error)}`);
  }
}

async function readDataText(written: string, terminal: Terminal): Promise<string> {
  if (written === "-") return terminal.readInput();
  if (!written.startsWith("@")) return written;
  return readText(terminal.directory, written.slice(1));
}

function readHeader(written: string): HeaderField {
  const colon = written.indexOf(":");
  if (colon === -1) {
    throw usage(`expected a header field "Name: value", got ${JSON.stringify(written)}`);
  }
  return [written.slice(0, colon), written.slice(colon + 1).trim()];
}
