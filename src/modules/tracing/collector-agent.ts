/**
 * Exporter options for a collector, from the configuration only; OpenTelemetry's environment variables are not read.
 * The library's exporters wait as long as data arrives, so here every request has a fixed deadline, and a stalled
 * answer does not delay later requests.
 */
import type { Duplex } from "node:stream";
import {
  type createOtlpHttpExportDelegate,
  httpAgentFactoryFromOptions,
} from "@opentelemetry/otlp-exporter-base/node-http";
import { given } from "../../base/json-value.ts";
import type { CollectorAddress } from "./config.ts";

type OpenAgent = ReturnType<typeof httpAgentFactoryFromOptions>;
type Agent = Awaited<ReturnType<OpenAgent>>;

type ExporterOptions = Parameters<typeof createOtlpHttpExportDelegate>[0];

/** The options of an exporter, whose connections are opened on demand. */
export function exporterOptions({ ca, headers, ...address }: CollectorAddress): ExporterOptions {
  const openAgent = httpAgentFactoryFromOptions({ keepAlive: true, ...given({ ca }) });
  return {
    ...address,
    compression: "none",
    headers: async () => ({ ...headers, "Content-Type": "application/x-protobuf" }),
    agentFactory: async (protocol) => endLate(await openAgent(protocol), address.timeoutMillis),
  };
}

function endLate(agent: Agent, timeoutMs: number): Agent {
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
    reuseSocket(...args: Parameters<typeof reuseSocket>) {
      reuseSocket.apply(agent, args);
      begin(args[0]);
    },
  });
}
