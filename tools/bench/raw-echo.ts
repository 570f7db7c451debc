/**
 * The ceiling of the platform: a `node:tls` server that sends back what it reads, and does nothing
 * else. Run as a process of its own: `raw-echo.js CERT KEY [WORKERS]`. Of several workers each accepts on
 * the one socket for itself, as those of the daemon do, and nothing else is shared: what they lose is
 * lost to the machine.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer as createPort, type Server } from "node:net";
import { createServer } from "node:tls";

const [cert = "", key = "", workers = "1"] = process.argv.slice(2);

function createEcho(): Server {
  return createServer(
    { cert: readFileSync(cert), key: readFileSync(key), minVersion: "TLSv1.3" },
    (socket) => {
      socket.setNoDelay(true);
      socket.on("data", (chunk) => socket.write(chunk));
      socket.on("error", () => socket.destroy());
    },
  );
}

function announce(server: Server): void {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ event: "listening", port }));
}

if (workers === "1") {
  const echo = createEcho();
  echo.listen(0, "127.0.0.1", () => announce(echo));
} else if (workers === "worker") {
  const echo = createEcho();
  process.on("message", (message, port) => {
    if (message !== "listen") return;
    (port as Server).on("connection", (raw) => echo.emit("connection", raw));
  });
  process.on("disconnect", () => process.exit(0));
  // The probe lets go of it, and until the port has come nothing else keeps the process.
  process.channel?.ref();
  process.send?.("ready");
} else {
  const port = createPort().listen(0, "127.0.0.1", async () => {
    for (let number = 0; number < Number(workers); number += 1) {
      const worker = fork(process.argv[1] ?? "", [cert, key, "worker"]);
      await once(worker, "message");
      worker.send("listen", port);
    }
    announce(port);
    port.close();
  });
}
process.on("SIGTERM", () => process.exit(0));
