/**
 * The ceiling of the platform: a `node:tls` server that sends back what it reads, and does nothing
 * else. Run as a process of its own: `raw-echo.js CERT KEY`.
 */
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";

const [cert = "", key = ""] = process.argv.slice(2);
const server = createServer(
  { cert: readFileSync(cert), key: readFileSync(key), minVersion: "TLSv1.3" },
  (socket) => {
    socket.setNoDelay(true);
    socket.on("data", (chunk) => socket.write(chunk));
    socket.on("error", () => socket.destroy());
  },
);
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ event: "listening", port }));
});
process.on("SIGTERM", () => process.exit(0));
