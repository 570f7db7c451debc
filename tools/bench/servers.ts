/** Starts the servers of a run, and ends all of them with it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeContracts } from "./contracts.ts";
import { type DeploymentVariant, writeDeployment } from "./deployment.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

/** One P-256 certificate for all servers. */
interface BenchTls {
  readonly cert: string;
  readonly key: string;
}

/** Options of a daemon besides its endpoints; by default without records, and without log lines for answers. */
interface Variant extends Partial<Omit<DeploymentVariant, "tls">> {
  readonly logLevel?: "info" | "warn";
  /** The number of contracts (`contracts.ts`) in its store. */
  readonly contracts?: number;
}

/** The servers of one run. */
export interface ServerPool {
  /** The certificate of all servers in PEM. */
  readonly ca: string;
  /** Default: one process. */
  rawEcho(workers?: number): Promise<ServerProcess>;
  fastify(): Promise<ServerProcess>;
  /** A collector that accepts traces and discards them. */
  traceSink(): Promise<ServerProcess>;
  /** The low-level server of MCP's library alone. */
  mcpLibrary(): Promise<ServerProcess>;
  /** Node with only a TOML parser, run over the files of a directory; it does not listen. */
  tomlParser(directory: string): Promise<ServerProcess>;
  /** The daemon with a deployment of its own. */
  agtpd(endpointCount: number, variant?: Variant): Promise<ServerProcess>;
  /** Registers a clean-up, which runs after the servers have ended, latest first. */
  defer(close: () => Promise<void>): void;
  closeAll(): Promise<void>;
}

/** Creates a pool; its files are in the directory. */
export function createServerPool(directory: string, tls: BenchTls): ServerPool {
  const running: ServerProcess[] = [];
  const deferred: (() => Promise<void>)[] = [];
  let started = 0;
  const start = async (script: string, args: readonly string[]): Promise<ServerProcess> => {
    started += 1;
    const log = join(directory, `server-${started}.log`);
    const server = await startServer(new URL(script, import.meta.url), args, log);
    running.push(server);
    return server;
  };
  return {
    ca: readFileSync(tls.cert, "utf8"),
    rawEcho: (workers = 1) => start("./raw-echo.js", [tls.cert, tls.key, String(workers)]),
    fastify: () => start("./fastify-app.js", [tls.cert, tls.key]),
    traceSink: () => start("./trace-sink.js", []),
    mcpLibrary: () => start("./mcp-library.js", []),
    tomlParser: (files) => start("./toml-parser.js", [files]),
    agtpd: async (endpointCount, variant = {}) => {
      const { logLevel = "warn", contracts = 0, records = "off", ...others } = variant;
      const deployment = join(directory, `deployment-${started}`);
      const config = writeDeployment(deployment, endpointCount, { tls, records, ...others });
      if (contracts > 0) await writeContracts(deployment, contracts);
      return start("../agtpd.js", ["--config", config, "--log-level", logLevel]);
    },
    defer: (close) => {
      deferred.push(close);
    },
    closeAll: async () => {
      await Promise.all(running.map((server) => server.close()));
      for (const close of deferred.reverse()) await close();
    },
  };
}
