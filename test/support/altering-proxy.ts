/**
 * A server that is deliberately broken: it stands before a daemon, over TLS on both sides, hands on
 * every octet that it is asked, and alters the answers as a test wants it to.
 */

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type TLSSocket } from "node:tls";
import { isWireFault } from "../../src/wire/message-parser.ts";
import { ResponseParser } from "../../src/wire/response-parser.ts";
import { makeCertificate } from "./certificate.ts";

/** One answer of the daemon, on its way to who asked. */
export interface Reply {
  readonly status: number;
  /** By lower-case name, without Content-Length. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Makes another answer of one; `earlier` are those of its connection before it, unaltered. */
export type Alteration = (reply: Reply, earlier: readonly Reply[]) => Reply;

export interface AlteringProxy {
  readonly port: number;
  /** From now on. */
  alter(alteration: Alteration): void;
  close(): Promise<void>;
}

const certificate = makeCertificate();

/** Stands before the daemon at this port; answers as it does until it is told otherwise. */
export async function startProxy(daemonPort: number): Promise<AlteringProxy> {
  let alteration: Alteration = (reply) => reply;
  const sockets = new Set<TLSSocket>();
  const { cert, key } = await certificate;
  const server = createServer({ cert, key, minVersion: "TLSv1.3" }, (client) => {
    const daemon = connect({ host: "127.0.0.1", port: daemonPort, rejectUnauthorized: false });
    for (const socket of [client, daemon]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => sockets.delete(socket));
    }
    client.pipe(daemon);
    client.on("close", () => daemon.destroy());
    relay(daemon, client, (reply, earlier) => alteration(reply, earlier));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    alter: (next) => {
      alteration = next;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function relay(daemon: TLSSocket, client: TLSSocket, alteration: Alteration): void {
  const parser = new ResponseParser();
  const earlier: Reply[] = [];
  daemon.on("data", (chunk: Buffer) => {
    parser.push(chunk);
    for (let next = parser.next(); next !== undefined; next = parser.next()) {
      if (isWireFault(next)) throw new Error(next.message);
      const { status, headers, body } = next;
      const fields = new Map([...headers].filter(([name]) => name !== "content-length"));
      const reply = { status, headers: fields, body: Buffer.from(body).toString("utf8") };
      client.write(serialize(alteration(reply, earlier)));
      earlier.push(reply);
    }
  });
  daemon.on("end", () => client.end());
}

function serialize({ status, headers, body }: Reply): string {
  const fields = Array.from(headers, ([name, value]) => `${name}: ${value}\r\n`).join("");
  const length = Buffer.byteLength(body);
  return `AGTP/1.0 ${status} Altered\r\n${fields}Content-Length: ${length}\r\n\r\n${body}`;
}
