/** Opens a connection to a server under test: TLS 1.3 if its certificate is known, else plain. */
import { connect as connectPlain, type Socket, type SocketConnectOpts } from "node:net";
import { connect as connectTls } from "node:tls";

/** The address to connect to. */
export interface Place {
  readonly port: number;
  /** The server's certificate in PEM; undefined without TLS. */
  readonly ca: string | undefined;
}

/** Connects; `onOpen` is called once data can be sent. */
export function openSocket(
  { port, ca }: Place,
  onOpen: () => void,
  more: Pick<SocketConnectOpts, "onread"> = {},
): Socket {
  const place = { ...more, host: "127.0.0.1", port };
  if (ca === undefined) return connectPlain(place).once("connect", onOpen);
  const tls = { servername: "localhost", minVersion: "TLSv1.3", ca } as const;
  return connectTls({ ...place, ...tls }).once("secureConnect", onOpen);
}
