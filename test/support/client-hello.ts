/** The first flight of a TLS client, for tests of handshakes that do not go on. */
import { Duplex } from "node:stream";
import { connect } from "node:tls";

/** The bytes of a ClientHello. */
export function clientHello(): Buffer {
  const flight: Buffer[] = [];
  const wire = new Duplex({
    read: () => undefined,
    write(chunk: Buffer, _encoding, done) {
      flight.push(chunk);
      done();
    },
  });
  const client = connect({ socket: wire });
  client.on("error", () => undefined);
  return Buffer.concat(flight);
}
