/** A server that speaks as much of PostgreSQL's protocol as a start asks of it, and says that it is older. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

const SSL_REQUEST = 80_877_103;

/** Starts it for the running test; answers its URL. `version` is that of `server_version_num`. */
export async function startOldPostgres(version: string): Promise<string> {
  const server = createServer((socket) => serve(socket, version));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `postgres://agtp@127.0.0.1:${(server.address() as AddressInfo).port}/agtp`;
}

function serve(socket: Socket, version: string): void {
  let input = Buffer.alloc(0);
  let isStarted = false;
  socket.on("error", () => undefined);
  socket.on("data", (chunk: Buffer) => {
    input = Buffer.concat([input, chunk]);
    for (;;) {
      // A message has a letter before its length, but for the first ones.
      const header = isStarted ? 1 : 0;
      if (input.length < header + 4) return;
      const end = header + input.readUInt32BE(header);
      if (input.length < end) return;
      const message = input.subarray(0, end);
      input = input.subarray(end);
      if (isStarted) answer(socket, message, version);
      else if (message.readUInt32BE(4) === SSL_REQUEST) socket.write("N");
      else {
        isStarted = true;
        socket.write(Buffer.concat([told("R", int32(0)), READY]));
      }
    }
  });
}

/** Every query has this one row. */
function answer(socket: Socket, message: Buffer, version: string): void {
  if (message[0] === 0x58) socket.end();
  if (message[0] !== 0x51) return;
  const row = { version, encoding: "UTF8", readonly: "off" };
  const columns = Object.keys(row).map((name) =>
    Buffer.concat([text(name), int32(0), int16(0), int32(25), int16(-1), int32(-1), int16(0)]),
  );
  const values = Object.values(row).flatMap((one) => [int32(one.length), Buffer.from(one)]);
  const reply = [
    told("T", int16(columns.length), ...columns),
    told("D", int16(columns.length), ...values),
    told("C", text("SELECT 1")),
    READY,
  ];
  socket.write(Buffer.concat(reply));
}

function told(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

function text(value: string): Buffer {
  return Buffer.from(`${value}\0`);
}

function int32(value: number): Buffer {
  const octets = Buffer.alloc(4);
  octets.writeInt32BE(value);
  return octets;
}

function int16(value: number): Buffer {
  const octets = Buffer.alloc(2);
  octets.writeInt16BE(value);
  return octets;
}

const READY = told("Z", Buffer.from("I"));
