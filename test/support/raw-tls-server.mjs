// A TLS server that does nothing but hold connections: what a connection costs without a protocol.
import { readFileSync } from "node:fs";
import { createServer } from "node:tls";

const [cert, key] = process.argv.slice(2).map((file) => readFileSync(file));
const server = createServer({ cert, key, minVersion: "TLSv1.3", allowHalfOpen: true }, (socket) => {
  socket.on("data", (chunk) => socket.write(chunk));
  socket.on("error", () => socket.destroy());
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${JSON.stringify({ event: "listening", port: server.address().port })}\n`);
});
