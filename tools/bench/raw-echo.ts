/**
 * The upper bound of the platform: a `node:tls` server that only echoes. Run as a separate process:
 * `raw-echo.js CERT KEY [WORKERS]`. Several workers accept on one shared socket, like the daemon's,
 * and share nothing else, so any loss is the machine's.
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
  // Keeps the process alive until the port has arrived, because the probe has unreferenced the channel.
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
