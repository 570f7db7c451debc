/** A port that is taken for as long as the running test lasts. */
import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import { onTestFinished } from "vitest";

/** Listens on a free port of loopback. */
export async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
