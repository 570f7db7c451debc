/** Connects to a server as the options of a command line specify: the trust anchors, and the client's certificate. */
import { X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isLoopbackHost } from "../../base/addresses.ts";
import { quoteValue } from "../../base/json-value.ts";
import { codeOf } from "../../base/thrown.ts";
import type { AgtpClient, ClientOptions } from "../../client/agtp-client.ts";
import { createClient } from "../../client/client.ts";
import type { AgtpClientError } from "../../client/client-error.ts";
import { type AgtpUri, parseUri } from "../../client/uri.ts";
import { readText, usage } from "./command.ts";
import type { Terminal } from "./terminal.ts";

/** The TLS options, as written. */
export interface TrustFlags {
  readonly ca?: string | undefined;
  readonly insecure?: boolean | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** The TLS options of programs where `--key` has another meaning. */
interface ClientFlags extends Pick<TrustFlags, "ca" | "insecure"> {
  readonly clientCert?: string | undefined;
  readonly clientKey?: string | undefined;
}

/** The file of a certificate that the daemon generated itself. */
const LOCAL_CERTIFICATE = ".agtp/tls/cert.pem";

/** Parses the URI of a server, as opposed to that of something on it. */
export function parseServerUri(written: string): AgtpUri {
  const uri = parseUri(written);
  if ((uri.path ?? uri.query ?? uri.agentId) === undefined) return uri;
  throw usage(
    `expected the URI of a server, agtp://HOST[:PORT] without a path or an agent, got ${quoteValue(written)}`,
  );
}

/** Connects, runs the requests, and closes the connection; a text is a server's URI. */
export async function askServer<T>(
  flags: TrustFlags,
  uri: string | AgtpUri,
  terminal: Terminal,
  ask: (client: AgtpClient) => Promise<T>,
): Promise<T> {
  const { host, port } = typeof uri === "string" ? parseServerUri(uri) : uri;
  const client = createClient(clientOptions(flags, { host, port }, terminal));
  try {
    return await ask(client);
  } finally {
    await client.close();
  }
}

/** Returns true if the connection failed for lack of trust, and the options name no anchor. */
export function isUntrusted(message: string, { ca, insecure = false }: TrustFlags): boolean {
  return message.startsWith("no trusted TLS connection") && ca === undefined && !insecure;
}

/** The option that might have prevented a failure; undefined if none is known. */
export function hintFor(
  { code, cause, message }: AgtpClientError,
  flags: TrustFlags,
): string | undefined {
  if (codeOf(cause) === "ECONNREFUSED") {
    return "nobody listens there: agtpd starts a daemon, agtpd status says where one does";
  }
  if (isUntrusted(message, flags)) {
    return "name its authority with --ca FILE, or trust it with --insecure";
  }
  const wantsCertificate = code === "ERR_AGTP_CLOSED" || message.endsWith("of the client");
  return wantsCertificate && flags.cert === undefined
    ? "a server that asks for certificates ends so: name yours with --cert and --key"
    : undefined;
}

/** Reads `--client-cert` and `--client-key`. */
export function trustFlags({ clientCert, clientKey, ca, insecure }: ClientFlags): TrustFlags {
  if ((clientCert === undefined) !== (clientKey === undefined)) {
    throw usage("expected --client-cert and --client-key together");
  }
  return { cert: clientCert, key: clientKey, ca, insecure };
}

/** The server's address, and the trusted CAs. */
export function clientOptions(
  flags: TrustFlags,
  { host, port }: Pick<AgtpUri, "host" | "port">,
  { directory }: Pick<Terminal, "directory">,
): ClientOptions {
  const { ca, cert, key, insecure = false } = flags;
  if (ca !== undefined && insecure) throw usage("expected --ca or --insecure, got both");
  if ((cert === undefined) !== (key === undefined)) {
    throw usage("expected --cert and --key together");
  }
  const read = (file: string | undefined): string | undefined =>
    file === undefined ? undefined : readText(directory, file);
  const hasLocal =
    !insecure && isLoopbackHost(host) && existsSync(resolve(directory, LOCAL_CERTIFICATE));
  return {
    ...{ host, port, rejectUnauthorized: !insecure },
    ca: ca === undefined ? read(hasLocal ? LOCAL_CERTIFICATE : undefined) : readCa(directory, ca),
    cert: read(cert),
    key: read(key),
  };
}

/** Checked here, because TLS accepts a file without certificates and then trusts nobody. */
function readCa(directory: string, file: string): string {
  const text = readText(directory, file);
  try {
    new X509Certificate(text);
    return text;
  } catch {
    throw usage(`${JSON.stringify(file)} holds no PEM certificate, or one that is damaged`);
  }
}
