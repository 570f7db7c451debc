/**
 * A TLS 1.3 peer that sends KeyUpdate messages, which no library does on request: the records are
 * built from the secret that the handshake logged.   RFC 8446 §4.6.3, §7.1, §7.2
 */
import { createCipheriv, createHmac } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { connect as connectTls } from "node:tls";

const CIPHER = "TLS_AES_128_GCM_SHA256";
/** A KeyUpdate of one octet that requests an update in turn; the record type is "handshake". */
const KEY_UPDATE: Buffer = Buffer.from([24, 0, 0, 1, 1, 22]);

/** A connection on which the next records are KeyUpdates. */
interface KeyUpdater {
  readonly socket: Socket;
  /** Builds the records of the next `count` updates. */
  updates(count: number): Buffer;
}

/** Performs the handshake, and sends no application data. */
export async function connectKeyUpdater(port: number): Promise<KeyUpdater> {
  const socket = connect({ host: "127.0.0.1", port });
  await once(socket, "connect");
  const secure = connectTls({ socket, rejectUnauthorized: false, ciphers: CIPHER });
  secure.on("error", () => undefined);
  let secret: Buffer = Buffer.alloc(0);
  secure.on("keylog", (line: Buffer) => {
    const [label, , value = ""] = line.toString().trim().split(" ");
    if (label === "CLIENT_TRAFFIC_SECRET_0") secret = Buffer.from(value, "hex");
  });
  await once(secure, "secureConnect");
  // The last octets of the handshake are written in the next turn.
  await setImmediate();
  return {
    socket,
    updates: (count) =>
      Buffer.concat(
        Array.from({ length: count }, () => {
          const record = seal(secret, KEY_UPDATE);
          secret = expand(secret, "traffic upd", 32);
          return record;
        }),
      ),
  };
}

/** Encrypts the first record under a secret. */
function seal(secret: Buffer, content: Buffer): Buffer {
  const head = Buffer.from([23, 3, 3, 0, content.length + 16]);
  const cipher = createCipheriv("aes-128-gcm", expand(secret, "key", 16), expand(secret, "iv", 12));
  cipher.setAAD(head);
  return Buffer.concat([head, cipher.update(content), cipher.final(), cipher.getAuthTag()]);
}

/** HKDF-Expand-Label with an empty context, for one block. */
function expand(secret: Buffer, label: string, length: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`);
  const info = Buffer.concat([Buffer.from([0, length, name.length]), name, Buffer.from([0, 1])]);
  return createHmac("sha256", secret).update(info).digest().subarray(0, length);
}
