/**
 * A daemon with workers: the parent holds the port, the store, the journal and the lock, and its
 * workers answer. Reload, drain, control socket, metrics and log concern the daemon as a whole.
 */
import { randomBytes } from "node:crypto";
import { atOnce } from "../../base/paced.ts";
import type { Problem } from "../../base/problem.ts";
import { reasonOf } from "../../base/thrown.ts";
import type { NodeFacts } from "../../dispatch/module/http-gateway.ts";
import type { ControlCommand } from "../../server/control-socket.ts";
import { SharedPort } from "../../server/shared-port.ts";
import { createRecordSigner } from "../../state/records/sealer.ts";
import { type OpenSharedState, openSharedState } from "../../state/sharing/open-shared-state.ts";
import { type DaemonOptions, loadFor, type Refused } from "../build-daemon.ts";
import type { Config } from "../config/config.ts";
import { countWorkers, hostAndPort, nodeName, type StatusSource } from "../control.ts";
import { changesOf, type FileMarks, markFiles } from "../deployment-watch.ts";
import { loadSigningKey } from "../foundation.ts";
import { RunningDaemon, type StartResult } from "../running-daemon.ts";
import {
  inStateDirectory,
  overStore,
  type StateOpening,
  type StateWatch,
  watchState,
} from "../server-state.ts";
import { announce, reportingProblems } from "../start-report.ts";
import { Crew, type CrewMember, endBehind } from "./crew.ts";
import type {
  AdoptAnswer,
  BeginAnswer,
  PrepareAnswer,
  PrepareOrder,
  WholeFacts,
} from "./orders.ts";
import {
  commandLead,
  documentVersionOf,
  httpConnectionsOf,
  nodesOf,
  type ServedMetrics,
  serveWhole,
} from "./whole.ts";

/** Starts a daemon with workers, or returns every problem that prevents it. */
export async function startWorkers(options: DaemonOptions, config: Config): Promise<StartResult> {
  const opening = await openParentState(config, watchState(options.log));
  if (opening.opened === undefined) {
    const { problems, isInspectable } = opening;
    const canInspect = isInspectable === true && config.console.enabled;
    return { kind: "refused", problems, isInspectable: canInspect };
  }
  const parent = new Parent(options, config, opening.opened);
  const refused = await parent.start();
  return refused ?? { kind: "started", daemon: parent };
}

/** Locks the state directory, and opens the store and the journal for the parent. */
function openParentState(
  config: Config,
  watch: StateWatch,
): Promise<StateOpening<OpenSharedState>> {
  const { attribution, cluster } = config;
  return inStateDirectory(config, (lock) =>
    overStore(config, watch, async (store, journal) => {
      const state = await openSharedState({
        ...{ store, durability: attribution.durability, leaseMs: cluster.viewLeaseMs, ...watch },
        journalDirectory: journal,
      });
      const close = async (): Promise<void> => {
        try {
          await state.close();
        } finally {
          lock?.release();
        }
      };
      return { opened: { ...state, close } };
    }),
  );
}

class Parent extends RunningDaemon {
  protected readonly state: OpenSharedState;
  readonly #crew: Crew;
  readonly #port: SharedPort;
  protected config: Config;
  #problems: readonly Problem[] = [];
  /** The files as of the workers' start or last reload; undefined before the start. */
  #files: FileMarks | undefined;
  #metrics: ServedMetrics | undefined;
  #ticketKeys = freshTicketKeys();
  port = 0;
  gatewayPort: number | undefined;
  #consolePort: number | undefined;
  fingerprint256 = "";

  constructor(options: DaemonOptions, config: Config, state: OpenSharedState) {
    super(options);
    this.config = config;
    this.state = state;
    this.#port = new SharedPort(countWorkers(config));
    this.#crew = new Crew({
      ...{ daemon: options, shared: state.shared, count: countWorkers(config) },
      order: () => ({
        ...{ address: this.address, boundPort: this.port, ticketKeys: this.#ticketKeys },
        ...{ gatewayPort: this.gatewayPort, consolePort: this.#consolePort },
      }),
      nodeOf: (number) => `${this.#node}/${number}`,
      facts: () => this.#whole(),
      onStarted: (member, { problems, ...started }) => {
        if (member.number === 1) this.#adoptLead(started);
        this.#adoptProblems(problems);
        this.#port.join(member.process);
        // Workers that start together read the same files; a replacement may find changed ones.
        if (this.#files !== undefined) void this.#tellChanges(member.node, this.#files);
      },
      onPassed: ({ process }, socket, passing) => this.#port.passed(process, socket, passing),
      onCounted: ({ process }, connections) => this.#port.has(process, connections),
      onLost: ({ process }) => this.#port.leave(process),
    });
  }

  /** Binds the port and starts the workers; on failure closes everything. */
  async start(): Promise<Refused | undefined> {
    const { server, metrics } = this.config;
    try {
      const bound = await this.#port.listen(server.host, server.port);
      this.address = bound.address;
      this.port = bound.port;
    } catch (error) {
      return this.refusePort({ key: "server.port", ...server, error });
    }
    const problems = await this.#crew.start();
    if (problems !== undefined) {
      await this.close(0);
      return { kind: "refused", problems };
    }
    this.#files = await markFiles(this.config);
    try {
      this.#metrics = await serveWhole(this.config, this.#crew, () => this.#nodes());
    } catch (error) {
      return this.refusePort({ key: "metrics.port", ...metrics, error });
    }
    await this.openControl();
    this.retain(createRecordSigner(loadSigningKey(this.config)));
    announce(this.options.log, this.status(), this.fingerprint256);
    return undefined;
  }

  status(): StatusSource {
    const { address, port, gatewayPort } = this;
    const isReady = !this.isEnding;
    return {
      ...{ address, port, gatewayPort, metricsPort: this.#metrics?.port },
      ...{ consolePort: this.#consolePort, config: this.config, isReady },
      problems: distinct([...this.#problems, ...this.#crew.refusals]),
      connectionCount: () => this.#connectionCount(),
      workers: this.#crew.count,
      documentVersion: () => documentVersionOf(this.#crew),
      journal: async () => this.state.retention?.size(),
      nodes: () => this.#nodes(),
      node: this.#node,
    };
  }

  /** Returns a command of the deployment, which the lead runs. */
  command(name: string): ControlCommand {
    return (options) => commandLead(this.#crew, { name, options });
  }

  get #node(): string {
    return this.config.cluster.node ?? nodeName(this, undefined);
  }

  protected reloadNow(): Promise<readonly Problem[]> {
    return this.#crew.together((members) => this.#reload(members));
  }

  async #reload(members: readonly CrewMember[]): Promise<readonly Problem[]> {
    const { log } = this.options;
    const ticketKeys = freshTicketKeys();
    const reloaded = await reloadAll(members, ticketKeys);
    atOnce(reportingProblems(log, reloaded.found));
    if (reloaded.adopted === undefined) {
      log.logger.error({ event: "reload-refused" }, "nothing changed");
      return reloaded.errors;
    }
    this.#ticketKeys = ticketKeys;
    // The file may have become invalid since the workers read it.
    this.config = loadFor(this.options).config ?? this.config;
    this.#metrics?.follow(this.config);
    this.#problems = reloaded.found;
    this.#files = await markFiles(this.config);
    this.retain(createRecordSigner(loadSigningKey(this.config)));
    this.fingerprint256 = reloaded.adopted.fingerprint256;
    this.remaining = reloaded.adopted.remaining;
    atOnce(reportingProblems(log, this.remaining));
    const { fingerprint256 } = this;
    log.logger.info({ event: "reloaded", fingerprint256 }, "reloaded");
    return [];
  }

  #adoptLead({ gatewayPort, consolePort, fingerprint256 }: LeadFacts): void {
    this.gatewayPort = gatewayPort;
    this.#consolePort = consolePort;
    this.fingerprint256 = fingerprint256;
  }

  /** Adopts the workers' problems, each once, since all workers find the same. */
  #adoptProblems(problems: readonly Problem[]): void {
    const before = this.#problems;
    this.#problems = distinct([...before, ...problems]);
    atOnce(reportingProblems(this.options.log, this.#problems.slice(before.length)));
  }

  async #tellChanges(node: string, before: FileMarks): Promise<void> {
    const changes = changesOf(node, before, await markFiles(this.config));
    // Dropped if the workers were reloaded meanwhile.
    if (this.#files === before) this.#adoptProblems(changes);
  }

  protected addProblem(problem: Problem): void {
    this.#adoptProblems([problem]);
  }

  async #whole(): Promise<WholeFacts> {
    return { connectionCount: await this.#connectionCount(), nodes: await this.#nodes() };
  }

  async #connectionCount(): Promise<number> {
    return this.#port.connectionCount + (await httpConnectionsOf(this.#crew));
  }

  #nodes(): Promise<readonly NodeFacts[]> {
    return nodesOf(this.#crew, {
      address: hostAndPort(this),
      leaseMs: this.config.cluster.viewLeaseMs,
      isEnding: this.isEnding,
    });
  }

  protected async close(timeoutMs: number): Promise<void> {
    this.#port.close();
    await this.#metrics?.close();
    await this.#crew.end(timeoutMs);
    await this.leaveControl();
    try {
      await this.state.close();
    } catch (error) {
      // Every record is in the journal, from which the next start rebuilds the rest.
      const message = "the server's state cannot be kept";
      this.options.log.logger.error({ event: "fault", error }, message);
    }
  }
}

type LeadFacts = Omit<Extract<BeginAnswer, { kind: "started" }>, "kind" | "problems">;

function freshTicketKeys(): string {
  return randomBytes(48).toString("base64");
}

/** The result of a reload, with the problems found. */
interface WholeReload {
  readonly found: readonly Problem[];
  readonly errors: readonly Problem[];
  /** Undefined if nothing has changed. */
  readonly adopted: AdoptAnswer | undefined;
}

/**
 * Reloads all workers: each builds the deployment, then either all of them serve it, or none.
 * `ticketKeys` are the new deployment's, 48 octets in base64.
 */
async function reloadAll(members: readonly CrewMember[], ticketKeys: string): Promise<WholeReload> {
  if (members.length === 0) return { found: NOBODY, errors: NOBODY, adopted: undefined };
  const said: PrepareAnswer[] = [];
  // The first worker creates what the others need, such as a new agent's identity.
  for (const member of members) {
    const answer = await prepare(member, { ticketKeys });
    said.push(answer);
    if (!answer.isPrepared) break;
  }
  const found = distinct(said.flatMap((one) => one.found));
  const errors = distinct(said.flatMap((one) => one.errors));
  if (said.some(({ isPrepared }) => !isPrepared)) {
    await Promise.all(members.map(({ process }) => process.link.ask("discard").catch(ignore)));
    return { found, errors, adopted: undefined };
  }
  const adopted = await Promise.all(
    // A worker that is lost now starts again with the adopted deployment.
    members.map(({ process }) => process.link.ask<AdoptAnswer>("adopt").catch(ignore)),
  );
  const remaining = distinct(adopted.flatMap((one) => one?.remaining ?? []));
  const fingerprint256 = adopted.find((one) => one !== undefined)?.fingerprint256 ?? "";
  return { found, errors, adopted: { remaining, fingerprint256 } };
}

const NOBODY: readonly Problem[] = [
  {
    ...{ file: "", key: "" },
    message: "no worker serves: each is being replaced, and reads the files as they are then",
  },
];

async function prepare({ node, process }: CrewMember, order: PrepareOrder): Promise<PrepareAnswer> {
  try {
    return await process.link.ask<PrepareAnswer>("prepare", order);
  } catch (error) {
    const message = `worker ${node} cannot build the deployment: ${await reasonOfLoss(process, error)}`;
    const problems: readonly Problem[] = [{ file: "", key: "", message }];
    return { isPrepared: false, found: problems, errors: problems };
  }
}

/** Describes the loss of a worker; a hung one is killed after half a minute, so its exit is the reason. */
async function reasonOfLoss(process: CrewMember["process"], error: unknown): Promise<string> {
  const end = await endBehind(process, error);
  if (end === undefined) return reasonOf(error);
  return `it has ended (${end}) and is being replaced: reload once more`;
}

/** Returns each problem once, though every worker has found it. */
function distinct(problems: readonly Problem[]): readonly Problem[] {
  return [...new Map(problems.map((one) => [JSON.stringify(one), one])).values()];
}

function ignore(): undefined {
  return undefined;
}
