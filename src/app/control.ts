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

/** The data that a status is built from. */
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

/** The daemon, as its control socket sees it. */
export interface Controlled {
  status(): StatusSource;
  reload(): Promise<readonly Problem[]>;
  /** Problems of the last reload besides the deployment's, such as changes that need a restart. */
  readonly remaining: readonly Problem[];
  /** Returns the whole state as the lines of a file. */
  exported(): AsyncIterable<string>;
  /** Resolves once everything has ended except this answer. */
  stop(): Promise<void>;
  /** Returns a command of the serving deployment. */
  command(name: string): ControlCommand | undefined;
}

/** Opens the control socket. Throws if it cannot listen. */
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

/** Writes a failure as the last line, since the answer has already started. */
async function* tellingFailure(lines: AsyncIterable<string>): AsyncGenerator<string> {
  try {
    yield* lines;
  } catch (error) {
    yield stateLine({ kind: "failed", message: reasonOf(error) });
  }
}

/**
 * Builds `agtpd status --json`. Ports are null where nothing listens; the journal is null if the
 * daemon has none of its own, or while the store does not answer.
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

/** The wait for the store: a supervisor that asks for the status has less patience than the driver. */
const STORE_MS = 2_000;

/** Returns the store's answer; undefined after the wait, so that the rest of the status is shown. */
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

/** Returns this process's name among those that serve the deployment. */
export function nodeName(
  { port }: Pick<NodeSource, "port">,
  view: Pick<ViewLease, "node"> | undefined,
): string {
  return view?.node ?? `${hostname()}:${port}`;
}

/** Lists the processes, this one first. */
export async function listNodes(
  source: NodeSource,
  view: ViewLease,
): Promise<readonly NodeFacts[]> {
  const { isReady } = source;
  const name = nodeName(source, view);
  // A store that does not answer adds no other processes.
  const all: readonly NodeEntry[] = (await inTime(view.nodes?.())) ?? [];
  const own: NodeFacts = {
    ...{ node: name, address: hostAndPort(source), version: VERSION, since: SINCE },
    state: isReady ? (view.isFresh ? "ready" : "lost") : "draining",
    lease_ms: all.find(({ node }) => node === name)?.leaseMs ?? null,
  };
  return [own, ...all.filter(({ node }) => node !== name).map(factsOf)];
}

/** Formats an address for a URL. */
export function hostAndPort({ address, port }: Omit<NodeSource, "isReady">): string {
  return `${urlHost(address)}:${port}`;
}

function factsOf({ leaseMs, state, ...entry }: NodeEntry): NodeFacts {
  return { ...entry, state: state === "live" ? "ready" : "lost", lease_ms: leaseMs };
}

const SINCE = new Date(Date.now() - 1000 * process.uptime()).toISOString();

/** Returns the number of processes that answer, `[server] workers`: one by default; "auto" is one a core. */
export function countWorkers({ server }: Config): number {
  return server.workers === "auto" ? availableParallelism() : server.workers;
}
