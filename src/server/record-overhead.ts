/**
 * Counts the octets that a peer sends beside its requests: the frames of TLS records, and messages
 * of TLS itself. To update a key costs forty microseconds and 27 octets, and TLS lets a peer do
 * nothing else all day: no other sign of it is to be had.   RFC 8446 §4.6.3
 */
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";

/** Octets allowed beside requests between two looks: some hundred updates; one a day is needed. */
const FREE_BYTES = 32 * 1024;
/** A record around each octet of a request is foolish, and allowed. */
const BYTES_PER_OCTET = 24;
const MOST_BYTES = 128 * 1024;

type Counted = Pick<Socket, "bytesRead">;

/** One a connection. */
export class RecordOverhead {
  readonly #raw: Counted;
  readonly #secured: Counted;
  #rawBytes: number;
  #securedBytes: number;

  /** The socket that was accepted, and the one over it. */
  constructor(raw: Counted, secured: Pick<TLSSocket, "bytesRead">) {
    this.#raw = raw;
    this.#secured = secured;
    this.#rawBytes = raw.bytesRead;
    this.#securedBytes = secured.bytesRead;
  }

  /** Tells whether there was too much of it since the last look. */
  isExcessive(): boolean {
    const rawBytes = this.#raw.bytesRead;
    const securedBytes = this.#secured.bytesRead;
    const octets = securedBytes - this.#securedBytes;
    const beside = rawBytes - this.#rawBytes - octets;
    this.#rawBytes = rawBytes;
    this.#securedBytes = securedBytes;
    return beside > Math.min(MOST_BYTES, FREE_BYTES + BYTES_PER_OCTET * octets);
  }
}
