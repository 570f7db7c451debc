/**
 * `agtpd --inspect-only`: serves the console alone, over a journal that is read but never written.
 * A daemon refuses to start on a tampered journal; here an operator sees which record it is.
 */
import { relative } from "node:path";
import { atOnce } from "../base/paced.ts";
import type { Problem } from "../base/problem.ts";
import { reasonOf } from "../base/thrown.ts";
import { VERSION } from "../base/version.ts";
import { createProcessState } from "../dispatch/process-state.ts";
import { publicKeyOf } from "../identity/ed25519.ts";
import { SendBudget } from "../server/connection-limits.ts";
import { type ControlSocket, openControlSocket } from "../server/control-socket.ts";
import { HttpListener } from "../server/http-listener.ts";
import { loadHttpTls } from "../server/tls-identity.ts";
import { InspectedJournal } from "../state/journal/inspected-journal.ts";
import { compareJournal } from "../state/journal/journal-comparison.ts";
import { createMemoryStore } from "../state/memory-store.ts";
import { readStoreCopy } from "../state/moving/read-copy.ts";
import { KNOWN_CHAINS, knownChainsOf } from "../state/records/known-chains.ts";
import { openState } from "../state/state.ts";
import { controlPath, journalDirectory, takeStateDirectory } from "../state/state-directory.ts";
import type { DaemonOptions } from "./build-daemon.ts";
import type { Config } from "./config/config.ts";
import { loadConfig } from "./config/load.ts";
import { loadingOperatorAgents, loadSigningKey } from "./foundation.ts";
import { damageProblems } from "./server-state.ts";

/** A console that runs without a daemon. */
interface Inspection {
  readonly consolePort: number;
  drain(): Promise<void>;
  /** Resolves once it is drained, for any reason. */
  readonly ended: Promise<void>;
}

type InspectionResult =
  | { readonly kind: "started"; readonly inspection: Inspection }
  | { readonly kind: "refused"; readonly problems: readonly Problem[] };

/** Serves the console alone; writes nothing to the state. */
export async function startInspection(options: DaemonOptions): Promise<InspectionResult> {
  const { config, problems } = loadConfig(options.configPath, options.env, {});
  if (config === undefined) return { kind: "refused", problems };
  const pages = loadHttpTls({ ...config.console, enabled: true }, config);
  if (pages.problems.length > 0) return { kind: "refused", problems: pages.problems };
  const taken = await takeStateDirectory(config, "agtpd --inspect-only");
  if (taken.problems !== undefined) return { kind: "refused", problems: taken.problems };
  const release = (): void => taken.lock?.release();
  try {
    const inspection = await serve(config, options, pages.tls);
    void inspection.ended.then(release);
    return { kind: "started", inspection };
  } catch (error) {
    release();
    const file = relative(config.directory, config.file);
    const message = `nothing can be inspected: ${reasonOf(error)}`;
    return { kind: "refused", problems: [{ file, key: "console", message }] };
  }
}

async function serve(
  config: Config,
  { log }: DaemonOptions,
  tls: ReturnType<typeof loadHttpTls>["tls"],
): Promise<Inspection> {
  const { logger } = log;
  const reportFault = (errorId: string, error: unknown): void =>
    logger.error({ event: "fault", error_id: errorId, error }, "the console failed");
  const { journal, problems, publicKey, names } = await readJournal(config);
  const state = await openState({
    ...{ store: createMemoryStore(), journalDirectory: undefined },
    onFault: (error) => reportFault("", error),
  });
  const { collection } = createProcessState(state);
  const { openInspection } = await import("../modules/console/open-console.ts");
  const parts = { config, journal, names, publicKey, collection, reportFault };
  const { side, commands, close } = await openInspection(parts);
  const limits = () => config.limits;
  const listener = new HttpListener({
    ...{ subject: "the console", tls, gateway: () => side.gateway(), limits },
    sendBudget: new SendBudget(config.limits),
    onFault: (error) => reportFault("", error),
  });
  const { port, address } = await listener.listen(config.console.host, config.console.port);
  side.bind(port, () => ({
    ...{ address, port, gatewayPort: undefined, problems },
    ...{ connectionCount: async () => listener.connectionCount, nodes: async () => [] },
  }));
  let sayEnded: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    sayEnded = resolve;
  });
  let control: ControlSocket | undefined;
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= listener.drain(config.limits.drainTimeoutMs).then(async () => {
      await close();
      await state.close();
      await log.flush();
      void (control?.close() ?? Promise.resolve()).finally(sayEnded);
    });
    return stopped;
  };
  const own = new Map<string, (given: Readonly<Record<string, unknown>>) => unknown>([
    ...commands,
    ["status", () => statusOf(config, port, problems)],
    ["stop", () => stop().then(() => ({ stopped: true }))],
  ]);
  control = await openControlSocket(controlPath(config.directory), (name) => own.get(name));
  const ready = { event: "listening", inspect_only: true, server_id: config.server.serverId };
  logger
    .child({}, { level: "info" })
    .info({ ...ready, console_port: port }, `only the console is served, on port ${port}`);
  void log.flush();
  const drain = async (): Promise<void> => {
    await stop();
    await ended;
  };
  return { consolePort: port, drain, ended };
}

function statusOf({ server }: Config, port: number, problems: readonly Problem[]): object {
  return {
    ...{ pid: process.pid, version: VERSION, uptime_s: Math.floor(process.uptime()) },
    ...{ ready: false, inspect_only: true, server_id: server.serverId, console_port: port },
    problems,
  };
}

/** Reads the journal as it is, the records that it lacks compared with the store, and its agents. */
async function readJournal(config: Config) {
  const directory = journalDirectory(config.directory);
  const signingKey = loadSigningKey(config);
  const publicKey = signingKey && publicKeyOf(signingKey);
  const known = knownChainsOf(...readKnown(config));
  const journal = await InspectedJournal.open({ directory, heads: known.heads, publicKey });
  const { damages } = await compareJournal(directory, known);
  const { documents } = atOnce(loadingOperatorAgents(config, []));
  const names = new Map(documents.map(({ agentId, name }) => [agentId, name]));
  return { journal, publicKey, names, problems: damageProblems(config, damages) };
}

/** Reads the chain heads that the store knows; an unreadable store has none, and the journal is still shown. */
function readKnown({ store }: Config): ReturnType<typeof readStoreCopy> {
  if (store.driver !== "sqlite") return [];
  try {
    return readStoreCopy(store.path, KNOWN_CHAINS);
  } catch {
    return [];
  }
}
