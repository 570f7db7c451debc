/**
 * Opens the TLS socket of a connection, and explains failures in AGTP's terms. AGTP "Transport": TLS 1.3, SNI with
 * the authority's name, ALPN `agtp` where the peer supports it.
 */
import { hash } from "node:crypto";
import { isIP } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { urlAuthority } from "../base/addresses.ts";
import { codeOf } from "../base/thrown.ts";
import type { Peer } from "./agtp-client.ts";
import { AgtpClientError } from "./client-error.ts";

/** Starts connecting; "secureConnect" or "close" follows. Throws on unusable PEM. */
export function openSocket(peer: Peer): TLSSocket {
  const { host, port, ca, cert, key, fingerprint, rejectUnauthorized = true } = peer;
  try {
    const socket = connect({
      host,
      port,
      ...{ ca: pem(ca), cert: pem(cert), key: pem(key) },
      // A pinned certificate is compared after the handshake instead.
      rejectUnauthorized: rejectUnauthorized && fingerprint === undefined,
      // SNI does not allow IP addresses; the certificate is then checked against the host.
      servername: isIP(host) === 0 ? host : "",
      minVersion: "TLSv1.3",
      ALPNProtocols: ["agtp"],
    });
    // Node keeps a connection open after a TLS failure, and emits nothing further.
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

/** Returns octets: Node takes an empty string for no certificate, and would connect anonymously. */
function pem(text: string | Uint8Array | undefined): Buffer | undefined {
  return text === undefined ? undefined : Buffer.from(text);
}

/** Returns why the peer's certificate is not the pinned one, before any request is sent; undefined if it is. */
export function pinFault(socket: TLSSocket, { fingerprint }: Peer): string | undefined {
  if (fingerprint === undefined) return undefined;
  const { raw } = socket.getPeerCertificate();
  const presented = raw === undefined ? "none" : hash("sha256", raw);
  if (presented === fingerprint) return undefined;
  return `the certificate's fingerprint is ${presented}, expected ${fingerprint}`;
}

/** Protocols that a peer lacks, by OpenSSL's error codes. */
const MISSING_PROTOCOLS: ReadonlyMap<string, string> = new Map([
  ["ERR_SSL_WRONG_VERSION_NUMBER", "TLS"],
  ["ERR_SSL_PACKET_LENGTH_TOO_LONG", "TLS"],
  ["ERR_SSL_HTTP_REQUEST", "TLS"],
  ["ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION", "TLS 1.3"],
  ["ERR_SSL_UNSUPPORTED_PROTOCOL", "TLS 1.3"],
]);

/** Returns the message for a connection that timed out. */
export function lateConnection({ host, port }: Peer, waitedMs: number): string {
  return `no TLS connection to ${urlAuthority(host, port)} within ${waitedMs} ms`;
}

/** Returns the error for a connection that failed or ended. */
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

/** TLS alerts that reject a client or its certificate.   RFC 8446 §6.2 */
const TURNED_AWAY =
  /_ALERT_(?:CERTIFICATE_(?:REQUIRED|EXPIRED|REVOKED|UNKNOWN)|(?:BAD|UNSUPPORTED)_CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED|HANDSHAKE_FAILURE|DECRYPT_ERROR)$/;

/**
 * True if the server rejected the client, and so has read no request: a client's handshake completes before the
 * server has checked its certificate. RFC 8446 §4.4.2.4
 */
export function isTurnedAway(error: unknown): boolean {
  return TURNED_AWAY.test(codeOf(error));
}

/** Operating-system errors have codes such as ECONNREFUSED or EAI_AGAIN; TLS errors do not. */
function isTlsFault(error: unknown): boolean {
  const code = codeOf(error);
  return code !== "" && !/^E(?:AI_)?[A-Z]+$/.test(code);
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // With several addresses, the AggregateError has no message; its parts do.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  const message = error.message || (first instanceof Error ? first.message : "");
  return message || ("code" in error ? String(error.code) : error.name);
}
