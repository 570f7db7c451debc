/** The commands of the control socket: status, nodes, reload and stop. */

import { availableParallelism, hostname } from "node:os";
import { urlHost } from "../base/addresses.ts";
import { raceAbort, within } from "../base/deadline.ts";
import type { Problem } from "../base/problem.ts";
import { reasonOf } from "../base/thrown.ts";
import { VERSION } from "../base/version.ts";
import type { DaemonFacts, NodeFacts } from "../dispatch/module/http-gateway.ts";
import {
  type ControlCommand,
  ControlLines,
  type ControlSocket,
  openControlSocket,
} from "../server/control-socket.ts";
import type { JournalSize } from "../state/journal/retention.ts";
import { stateLine } from "../state/moving/state-file.ts";
import type { NodeEntry, ViewLease } from "../state/state.ts";
import type { Config } from "./config/config.ts";

/** The parts that a status is made from. */
export interface StatusSource extends DaemonFacts {
  readonly config: Config;
  readonly isReady: boolean;
  readonly metricsPort: number | undefined;
  readonly consolePort: number | undefined;
  readonly workers: number;
  documentVersion(): Promise<string | undefined>;
  journal(): Promise<JournalSize | undefined>;
  readonly node: string;
}

/** A daemon as its control socket sees it. */
export interface Controlled {
  status(): StatusSource;
  reload(): Promise<readonly Problem[]>;
  /** Problems of the last reload beside those of the deployment: changes that need a start, say. */
  readonly remaining: readonly Problem[];
  /** Everything that is kept, as the lines of a file. */
  exported(): AsyncIterable<string>;
  /** Resolves once everything is ended but this answer. */
  stop(): Promise<void>;
  /** A command of the deployment that is served. */
  command(name: string): ControlCommand | undefined;
}

/** Serves the commands. Throws where nothing can listen. */
export function openControl(path: string, daemon: Controlled): Promise<ControlSocket> {
  const own = commandsOf(daemon);
  return openControlSocket(path, (name) => own.get(name) ?? daemon.command(name));
}

function commandsOf(daemon: Controlled): ReadonlyMap<string, ControlCommand> {
  return new Map<string, ControlCommand>([
    ["status", () => statusOf(daemon.status())],
    ["nodes", async () => ({ nodes: await daemon.status().nodes() })],
    [
      "reload",
      async () => {
        const errors = await daemon.reload();
        if (errors.length > 0) return { reloaded: false, problems: errors };
        return { reloaded: true, problems: [...daemon.status().problems, ...daemon.remaining] };
      },
    ],
    ["export", () => new ControlLines(tellingFailure(daemon.exported()))],
    [
      "stop",
      async () => {
        await daemon.stop();
        return { stopped: true };
      },
    ],
  ]);
}

/** Logs the fault as the last line; the asker has its answer by then. */
async function* tellingFailure(lines: AsyncIterable<string>): AsyncGenerator<string> {
  try {
    yield* lines;
  } catch (error) {
    yield stateLine({ kind: "failed", message: reasonOf(error) });
  }
}

/**
 * `agtpd status --json`. Ports are null where nothing listens; what is told of a journal is without one of
 * the daemon's own, and while the store does not answer.
 */
async function statusOf(source: StatusSource): Promise<object> {
  const { config, isReady, address, port, gatewayPort, metricsPort } = source;
  const size = await inTime(source.journal());
  return {
    pid: process.pid,
    version: VERSION,
    uptime_s: Math.floor(process.uptime()),
    ready: isReady,
    server_id: config.server.serverId,
    ...{ address, port, gateway_port: gatewayPort ?? null, metrics_port: metricsPort ?? null },
    console_port: source.consolePort ?? null,
    workers: source.workers,
    node: source.node,
    connections: await source.connectionCount(),
    document_version: (await source.documentVersion()) ?? null,
    journal_segments: size?.segments ?? null,
    journal_bytes: size?.bytes ?? null,
    journal_cut_through: size?.cutThrough ?? null,
    problems: source.problems,
  };
}

/** A store is waited for so long: what restarts a daemon that tells no status has less patience than its driver. */
const STORE_MS = 2_000;

/** The answer of a store; undefined where it gives none, which keeps nobody from seeing the rest. */
async function inTime<T>(asked: Promise<T> | undefined): Promise<T | undefined> {
  if (asked === undefined) return undefined;
  const ends = { signals: [], timeoutMs: STORE_MS };
  const told = await within(ends, (late) => raceAbort(asked, late)).catch(() => undefined);
  return told === "aborted" ? undefined : told;
}

interface NodeSource {
  readonly isReady: boolean;
  readonly address: string;
  readonly port: number;
}

/** The name of this process among those that serve the deployment. */
export function nodeName(
  { port }: Pick<NodeSource, "port">,
  view: Pick<ViewLease, "node"> | undefined,
): string {
  return view?.node ?? `${hostname()}:${port}`;
}

/** Every process; this one first. */
export async function listNodes(
  source: NodeSource,
  view: ViewLease,
): Promise<readonly NodeFacts[]> {
  const { isReady } = source;
  const name = nodeName(source, view);
  // A store that does not answer knows of no others.
  const all: readonly NodeEntry[] = (await inTime(view.nodes?.())) ?? [];
  const own: NodeFacts = {
    ...{ node: name, address: hostAndPort(source), version: VERSION, since: SINCE },
    state: isReady ? (view.isFresh ? "ready" : "lost") : "draining",
    lease_ms: all.find(({ node }) => node === name)?.leaseMs ?? null,
  };
  return [own, ...all.filter(({ node }) => node !== name).map(factsOf)];
}

/** An address as it stands in a URL. */
export function hostAndPort({ address, port }: Omit<NodeSource, "isReady">): string {
  return `${urlHost(address)}:${port}`;
}

function factsOf({ leaseMs, state, ...entry }: NodeEntry): NodeFacts {
  return { ...entry, state: state === "live" ? "ready" : "lost", lease_ms: leaseMs };
}

const SINCE = new Date(Date.now() - 1000 * process.uptime()).toISOString();

/** How many processes answer, `[server] workers`: one unless it says more; "auto" is one a core. */
export function countWorkers({ server }: Config): number {
  return server.workers === "auto" ? availableParallelism() : server.workers;
}
