/**
 * A server under test: a separate process whose standard output goes to a file, where it announces
 * that it listens. Its CPU time and memory are queried over IPC (usage-probe.ts).
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { daemonFlags } from "../daemon-flags.ts";
import { endWithThis } from "../leftovers.ts";
import type { Usage } from "./usage-probe.ts";

/** A listening server. */
export interface ServerProcess {
  readonly port: number;
  /** The port of its HTTP sidecar; undefined if it has none. */
  readonly httpPort: number | undefined;
  /** The port of its console; undefined if it has none. */
  readonly consolePort: number | undefined;
  /** The directory of its log, and of its deployment, if it has one. */
  readonly directory: string;
  /** The time from the start of the process to its listening line. */
  readonly startMs: number;
  usage(): Promise<Usage>;
  /** Like usage, but after a full garbage collection. */
  memory(): Promise<Usage>;
  /** Queries another probe. */
  ask<Answer>(question: string): Promise<Answer>;
  close(): Promise<void>;
}

const START_LIMIT_MS = 60_000;

/** Starts `node SCRIPT ARGS…`, with the flags in the script's first line and a probe, and waits until it listens. */
export async function startServer(
  script: URL,
  args: readonly string[],
  logFile: string,
  probe: URL = new URL("./usage-probe.js", import.meta.url),
): Promise<ServerProcess> {
  const program = fileURLToPath(script);
  const flags = ["--import", probe.href, ...daemonFlags(program)];
  const log = openSync(logFile, "w");
  const startedAt = performance.now();
  const child = endWithThis(
    spawn(process.execPath, [...flags, program, ...args], {
      stdio: ["ignore", log, "inherit", "ipc"],
    }),
  );
  closeSync(log);
  const ports = await listeningPorts(child, logFile, startedAt + START_LIMIT_MS);
  const startMs = performance.now() - startedAt;
  const at = args.indexOf("--config");
  return {
    ...ports,
    directory: dirname(at < 0 ? logFile : (args[at + 1] ?? logFile)),
    startMs,
    usage: () => ask(child, "usage"),
    memory: () => ask(child, "memory"),
    ask: (question) => ask(child, question),
    close: () => close(child),
  };
}

interface Said {
  readonly port: number;
  readonly gateway_port?: number;
  readonly console_port?: number;
}

async function listeningPorts(
  child: ChildProcess,
  logFile: string,
  until: number,
): Promise<Pick<ServerProcess, "port" | "httpPort" | "consolePort">> {
  while (performance.now() < until && child.exitCode === null) {
    const line = readFileSync(logFile, "utf8")
      .split("\n")
      .find((candidate) => candidate.includes('"event":"listening"') && candidate.endsWith("}"));
    if (line !== undefined) {
      const said = JSON.parse(line) as Said;
      return { port: said.port, httpPort: said.gateway_port, consolePort: said.console_port };
    }
    await delay(2);
  }
  await close(child);
  throw new Error(`the server did not listen:\n${readFileSync(logFile, "utf8")}`);
}

async function ask<Answer>(child: ChildProcess, question: string): Promise<Answer> {
  const answer = once(child, "message") as Promise<[Answer]>;
  child.send(question);
  return (await answer)[0];
}

async function close(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGTERM");
  const killer = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await gone;
  clearTimeout(killer);
}
