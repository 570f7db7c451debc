/**
 * Connections to a collector. The exporters wait as long as anything comes: here each request has its
 * time, whatever the collector says meanwhile, and whoever holds one on holds up none of the next.
 */
import http from "node:http";
import https from "node:https";
import type { Duplex } from "node:stream";
import type { CollectorAddress } from "./config.ts";

/** The options of an exporter. */
interface ExporterOptions extends Omit<CollectorAddress, "ca"> {
  readonly httpAgentOptions: (protocol: string) => http.Agent;
}

/** Opens no connection by itself. */
export function exporterOptions({ ca, ...address }: CollectorAddress): ExporterOptions {
  return {
    ...address,
    httpAgentOptions(protocol) {
      const options = { keepAlive: true, ...(ca === undefined ? {} : { ca }) };
      const agent = protocol === "http:" ? new http.Agent(options) : new https.Agent(options);
      return endLate(agent, address.timeoutMillis);
    },
  };
}

function endLate(agent: http.Agent, timeoutMs: number): http.Agent {
  const timers = new WeakMap<Duplex, NodeJS.Timeout>();
  const begin = (socket: Duplex): void => {
    const end = (): unknown => socket.destroy(new Error("the collector did not answer in time"));
    timers.set(socket, setTimeout(end, timeoutMs).unref());
  };
  const stop = (socket: Duplex): void => clearTimeout(timers.get(socket));
  const { createConnection, keepSocketAlive, reuseSocket } = agent;
  return Object.assign(agent, {
    createConnection(...args: Parameters<typeof createConnection>) {
      const socket = createConnection.apply(agent, args);
      if (!socket) return socket;
      begin(socket);
      return socket.once("close", () => stop(socket));
    },
    keepSocketAlive(socket: Duplex) {
      stop(socket);
      return keepSocketAlive.call(agent, socket);
    },
    reuseSocket(socket: Duplex, request: http.ClientRequest) {
      reuseSocket.call(agent, socket, request);
      begin(socket);
    },
  });
}
