/**
 * Opens the TLS socket of a connection, and says in AGTP's terms why that failed.
 * AGTP "Transport": TLS 1.3, SNI with the authority's name, ALPN `agtp` where the peer has one.
 */
import { hash } from "node:crypto";
import { isIP } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { urlAuthority } from "../base/addresses.ts";
import { codeOf } from "../base/thrown.ts";
import type { Peer } from "./agtp-client.ts";
import { AgtpClientError } from "./client-error.ts";

/** Starts connecting; "secureConnect" or "close" follows. Throws for unusable PEM texts. */
export function openSocket(peer: Peer): TLSSocket {
  const { host, port, ca, cert, key, fingerprint, rejectUnauthorized = true } = peer;
  try {
    const socket = connect({
      host,
      port,
      ...{ ca: pem(ca), cert: pem(cert), key: pem(key) },
      // A certificate that is pinned is compared once the handshake is done.
      rejectUnauthorized: rejectUnauthorized && fingerprint === undefined,
      // An address is no server name; the certificate is then checked against the host.
      servername: isIP(host) === 0 ? host : "",
      minVersion: "TLSv1.3",
      ALPNProtocols: ["agtp"],
    });
    // Node leaves a connection open whose TLS has failed, and nobody would hear of it any more.
    socket.on("error", () => socket.destroy());
    return socket.setNoDelay(true);
  } catch (error) {
    throw new AgtpClientError(
      "ERR_AGTP_TLS",
      `unusable certificate or key: ${reason(error)}`,
      error,
    );
  }
}

/** As octets: Node takes an empty text for none, and would connect as nobody. */
function pem(text: string | Uint8Array | undefined): Buffer | undefined {
  return text === undefined ? undefined : Buffer.from(text);
}

/** Why a peer is not the one whose certificate is pinned, before a single octet is sent to it; undefined: it is. */
export function pinFault(socket: TLSSocket, { fingerprint }: Peer): string | undefined {
  if (fingerprint === undefined) return undefined;
  const { raw } = socket.getPeerCertificate();
  const presented = raw === undefined ? "none" : hash("sha256", raw);
  if (presented === fingerprint) return undefined;
  return `the certificate's fingerprint is ${presented}, expected ${fingerprint}`;
}

/** The protocol that a peer does not speak, by the TLS library's words for the answer. */
const MISSING_PROTOCOLS: ReadonlyMap<string, string> = new Map([
  ["ERR_SSL_WRONG_VERSION_NUMBER", "TLS"],
  ["ERR_SSL_PACKET_LENGTH_TOO_LONG", "TLS"],
  ["ERR_SSL_HTTP_REQUEST", "TLS"],
  ["ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION", "TLS 1.3"],
  ["ERR_SSL_UNSUPPORTED_PROTOCOL", "TLS 1.3"],
]);

/** Why no connection came about in time. */
export function lateConnection({ host, port }: Peer, waitedMs: number): string {
  return `no TLS connection to ${urlAuthority(host, port)} within ${waitedMs} ms`;
}

/** Why no connection came about, or why one ended. */
export function connectionError(peer: Peer, error: unknown): AgtpClientError {
  const at = urlAuthority(peer.host, peer.port);
  if (error === undefined) {
    return new AgtpClientError("ERR_AGTP_CONNECT", `${at} closed before the TLS handshake`);
  }
  const missing = MISSING_PROTOCOLS.get(codeOf(error));
  if (missing !== undefined) {
    return new AgtpClientError("ERR_AGTP_TLS", `${at} does not speak ${missing}`, error);
  }
  if (codeOf(error) === "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED") {
    return new AgtpClientError("ERR_AGTP_TLS", `${at} asks for a certificate of the client`, error);
  }
  const code = isTlsFault(error) ? "ERR_AGTP_TLS" : "ERR_AGTP_CONNECT";
  const what = code === "ERR_AGTP_TLS" ? "no trusted TLS connection to" : "no connection to";
  return new AgtpClientError(code, `${what} ${at}: ${reason(error)}`, error);
}

/** Names of alerts about a client and its certificate.   RFC 8446 §6.2 */
const TURNED_AWAY =
  /_ALERT_(?:CERTIFICATE_(?:REQUIRED|EXPIRED|REVOKED|UNKNOWN)|(?:BAD|UNSUPPORTED)_CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED|HANDSHAKE_FAILURE|DECRYPT_ERROR)$/;

/**
 * Tells whether a server has turned its client away, and so has read no request: a client's handshake is over
 * before the server has looked at its certificate.   RFC 8446 §4.4.2.4
 */
export function isTurnedAway(error: unknown): boolean {
  return TURNED_AWAY.test(codeOf(error));
}

/** Errors of the operating system are called ECONNREFUSED or EAI_AGAIN; those of TLS are not. */
function isTlsFault(error: unknown): boolean {
  const code = codeOf(error);
  return code !== "" && !/^E(?:AI_)?[A-Z]+$/.test(code);
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Several addresses were tried: each has its own error, and the whole has no message.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  const message = error.message || (first instanceof Error ? first.message : "");
  return message || ("code" in error ? String(error.code) : error.name);
}
