/**
 * The sample deployment with the order desk that it calls. If a port is taken a free one is used,
 * and ORDER_DESK gives the deployment the desk's address.
 */
import { once } from "node:events";
import type { Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { DaemonOptions } from "../src/app/build-daemon.ts";
import { type Daemon, startDaemon } from "../src/app/daemon.ts";
import type { Problem } from "../src/base/problem.ts";
import { ensureCertificate } from "../src/server/certificate.ts";
import { startOrderDesk } from "./sample-upstream.ts";

/** As in endpoints/orders/; the token is no secret, because the desk listens on loopback only. */
const DESK = { port: 4481, token: "sample-order-desk-key" } as const;

/** The location of the sample, and the recipients of messages. */
export interface SampleOptions extends Pick<DaemonOptions, "env" | "log"> {
  /** The directory of agtp-server.toml. */
  readonly root: string;
  /** Called for each port that is taken. */
  readonly tell: (line: string) => void;
}

/** The running sample, or the problems of the daemon. */
type SampleResult =
  | { readonly kind: "started"; readonly daemon: Daemon; close(): Promise<void> }
  | { readonly kind: "refused"; readonly problems: readonly Problem[] };

/** Starts the order desk and the daemon; `close` stops the desk. */
export async function startSample(options: SampleOptions): Promise<SampleResult> {
  const { root, env, log, tell } = options;
  const desk = await openDesk(root, tell);
  const { port } = desk.address() as AddressInfo;
  const configPath = join(root, "agtp-server.toml");
  const told = { configPath, env: { ...env, ORDER_DESK: `https://localhost:${port}` }, log };
  let result = await startDaemon(told);
  if (result.kind === "refused" && result.problems.every(({ key }) => key === "server.port")) {
    tell("the sample's port is taken: a free one is used");
    result = await startDaemon({ ...told, port: 0 });
  }
  const close = () => closeDesk(desk);
  if (result.kind === "started") return { ...result, close };
  await close();
  return result;
}

async function openDesk(root: string, tell: SampleOptions["tell"]): Promise<Server> {
  const certificate = await ensureCertificate(join(root, ".agtp/sample"));
  try {
    return await startOrderDesk({ ...DESK, ...certificate });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    tell(`port ${DESK.port} of the order desk is taken: a free one is used`);
    return await startOrderDesk({ ...DESK, ...certificate, port: 0 });
  }
}

async function closeDesk(desk: Server): Promise<void> {
  desk.close();
  desk.closeAllConnections();
  await once(desk, "close");
}
