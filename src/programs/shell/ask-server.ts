/** A connection to a server as flags of a command line say it: whom to trust, and as whom to ask. */
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

/** The flags about TLS, as written. */
export interface TrustFlags {
  readonly ca?: string | undefined;
  readonly insecure?: boolean | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** The flags of programs in which `--key` is something else. */
interface ClientFlags extends Pick<TrustFlags, "ca" | "insecure"> {
  readonly clientCert?: string | undefined;
  readonly clientKey?: string | undefined;
}

/** The file of a certificate that the daemon made itself. */
const LOCAL_CERTIFICATE = ".agtp/tls/cert.pem";

/** The URI of a server, as opposed to that of something on it. */
export function parseServerUri(written: string): AgtpUri {
  const uri = parseUri(written);
  if ((uri.path ?? uri.query ?? uri.agentId) === undefined) return uri;
  throw usage(
    `expected the URI of a server, agtp://HOST[:PORT] without a path or an agent, got ${quoteValue(written)}`,
  );
}

/** Asks a server, and hangs up; a text is that of a server's URI. */
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

/** Tells whether a server was refused for want of trust in it, and the flags name none. */
export function isUntrusted(message: string, { ca, insecure = false }: TrustFlags): boolean {
  return message.startsWith("no trusted TLS connection") && ca === undefined && !insecure;
}

/** The flag that a request which failed may have wanted; undefined: nobody knows of one. */
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

/** The server to ask, and the authorities to trust. */
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

/** TLS passes over a file without certificates, and would then find that nobody is trusted. */
function readCa(directory: string, file: string): string {
  const text = readText(directory, file);
  try {
    new X509Certificate(text);
    return text;
  } catch {
    throw usage(`${JSON.stringify(file)} holds no PEM certificate, or one that is damaged`);
  }
}
