/**
 * A worker, one of several processes that answer for a daemon. It accepts connections on its
 * parent's port; the parent stores what it commits, and tells it to start, to adopt another
 * deployment, and to end.
 */
import type { Environment } from "../../base/environment.ts";
import type { Link } from "../../base/link.ts";
import { createLog, openStdout } from "../../base/log.ts";
import { atOnce } from "../../base/paced.ts";
import type { DaemonFacts } from "../../dispatch/module/http-gateway.ts";
import { createProcessState, whileServing } from "../../dispatch/process-state.ts";
import { pushesMetrics } from "../../modules/tracing/config.ts";
import type { Measurements } from "../../server/metrics.ts";
import type { WorkerChannel } from "../../server/worker-channel.ts";
import { shareOf, type WorkerPort } from "../../server/worker-port.ts";
import { ParentNode } from "../../state/sharing/parent-node.ts";
import { ParentRecords } from "../../state/sharing/parent-records.ts";
import { ParentStore } from "../../state/sharing/parent-store.ts";
import type { Joined } from "../../state/sharing/shared-state.ts";
import { openState } from "../../state/state.ts";
import { type Built, buildDaemon, type DaemonOptions } from "../build-daemon.ts";
import type { Config } from "../config/config.ts";
import type { Deployment } from "../deployment.ts";
import type { StateOpening, StateWatch } from "../server-state.ts";
import { Serving } from "../serving.ts";
import { logProcessFaults, portProblem, reportingTrust } from "../start-report.ts";
import type {
  AdoptAnswer,
  BeginAnswer,
  BeginOrder,
  CommandAnswer,
  CommandOrder,
  PrepareAnswer,
  PrepareOrder,
  WholeFacts,
  WorkerStatus,
} from "./orders.ts";
import { shareIntermediates } from "./shared-intermediates.ts";
import { shareRates } from "./shared-rates.ts";

/** Serves a parent until it orders the end, then ends the process. */
export function serveParent(channel: WorkerChannel, env: Environment): void {
  let worker: Worker | undefined;
  const begun = (): Worker => {
    if (worker === undefined) throw new Error("the worker has not begun");
    return worker;
  };
  channel.link.serve({
    alive: () => true,
    begin: async (order: BeginOrder): Promise<BeginAnswer> => {
      worker = new Worker(channel, order, env);
      return worker.begin();
    },
    prepare: (order: PrepareOrder) => begun().prepare(order),
    adopt: () => begun().adopt(),
    discard: () => begun().discard(),
    status: () => begun().status(),
    metrics: () => begun().metrics(),
    command: (order: CommandOrder) => begun().command(order),
    end: () => begun().end(),
  });
}

class Worker {
  readonly #channel: WorkerChannel;
  readonly #order: BeginOrder;
  readonly #options: DaemonOptions;
  #ticketKeys: Buffer;
  #serving: Serving | undefined;
  #measurements: Measurements | undefined;
  #port: WorkerPort | undefined;
  #warmingUp: Promise<void> | undefined;
  #next: Built | undefined;

  constructor(channel: WorkerChannel, order: BeginOrder, env: Environment) {
    this.#channel = channel;
    this.#order = order;
    this.#ticketKeys = Buffer.from(order.ticketKeys, "base64");
    const intermediates = shareIntermediates(channel.link, order.intermediates);
    const { configPath, host, port, logLevel, isLead } = order;
    this.#options = {
      ...{ configPath, env, log: createLog(logLevel, openStdout()) },
      ...(host === undefined ? {} : { host }),
      ...(port === undefined ? {} : { port }),
      place: {
        openState: (config, watch) => openWorkerState(channel.link, config, watch),
        servesHttp: isLead,
        ticketKeys: () => this.#ticketKeys,
        intermediates,
        shareOf: (bound) => shareOf(bound, order.seat),
      },
    };
    logProcessFaults(this.#options);
  }

  async begin(): Promise<BeginAnswer> {
    const { isLead, seat, boundPort, gatewayPort, consolePort } = this.#order;
    const built = await buildDaemon(this.#options, { isPersistent: true });
    if (built.kind === "refused") return built;
    const serving = new Serving(built, this.#options);
    this.#serving = serving;
    const { deployment } = serving;
    const { metrics, tracing } = deployment.config;
    if (metrics.enabled || pushesMetrics(tracing)) {
      const { createMeasurements } = await import("../../server/metrics.ts");
      this.#measurements = createMeasurements(serving.counts);
    }
    serving.port = boundPort;
    const fault = await serving.listenForHttp({ gatewayPort, consolePort });
    if (fault !== undefined) {
      return { kind: "refused", problems: [portProblem(deployment.config, fault)] };
    }
    this.#bind(deployment);
    const { problems } = built;
    deployment.commit();
    if (isLead) atOnce(reportingTrust(this.#options.log, deployment));
    await serving.catchUp();
    this.#channel.link.tell("serving");
    this.#port = this.#channel.openPort({
      seat,
      limits: () => serving.deployment.config.limits,
      take: (accepted) => serving.listener.take(accepted),
      onFault: (error) =>
        this.#options.log.logger.error({ event: "fault", error }, "a connection failed"),
    });
    this.#warmingUp = serving.warmUp();
    const ports = { gatewayPort: serving.gatewayPort, consolePort: serving.consolePort };
    return { kind: "started", problems, fingerprint256: serving.fingerprint256, ...ports };
  }

  async prepare({ ticketKeys }: PrepareOrder): Promise<PrepareAnswer> {
    const before = this.#ticketKeys;
    this.#ticketKeys = Buffer.from(ticketKeys, "base64");
    const { next, found, errors } = await this.#served.prepare((one) => this.#bind(one));
    this.#next = next;
    if (next === undefined) this.#ticketKeys = before;
    return { isPrepared: next !== undefined, found, errors };
  }

  async adopt(): Promise<AdoptAnswer> {
    const serving = this.#served;
    const next = this.#next;
    this.#next = undefined;
    if (next === undefined) throw new Error("no deployment was prepared");
    const remaining = await serving.adopt(next);
    if (this.#order.isLead) {
      const drive = whileServing(serving.kept);
      await drive(reportingTrust(this.#options.log, next.deployment));
    }
    return { remaining, fingerprint256: serving.fingerprint256 };
  }

  async discard(): Promise<void> {
    const next = this.#next;
    this.#next = undefined;
    if (next !== undefined) await this.#served.discard(next);
  }

  async status(): Promise<WorkerStatus> {
    const { deployment, listener, connectionCount, kept } = this.#served;
    return {
      httpConnections: connectionCount - listener.connectionCount,
      documentVersion: (await deployment.documentVersion()) ?? null,
      isFresh: kept.state.view.isFresh,
    };
  }

  async metrics(): Promise<unknown> {
    return (await this.#measurements?.registry.getMetricsAsJSON()) ?? [];
  }

  async command({ name, options }: CommandOrder): Promise<CommandAnswer> {
    const command = this.#served.deployment.commands.get(name);
    if (command === undefined) return { isKnown: false };
    return { isKnown: true, result: await command(options) };
  }

  /** Answers the received requests, stores the state, and ends once the parent knows. */
  async end(): Promise<void> {
    const serving = this.#served;
    this.#measurements?.close();
    this.#port?.close();
    const { drainTimeoutMs } = serving.deployment.config.limits;
    await serving.end(drainTimeoutMs, [this.#warmingUp]);
    if (await serving.closeState()) this.#channel.link.tell("kept");
    await this.#options.log.flush();
  }

  get #served(): Serving {
    if (this.#serving === undefined) throw new Error("the worker has not begun");
    return this.#serving;
  }

  #bind(deployment: Deployment): void {
    const { gatewayPort, consolePort } = this.#order;
    const serving = this.#served;
    const gateway = serving.gatewayPort ?? gatewayPort;
    deployment.bind({
      agtp: serving.port,
      gateway: deployment.gateway === undefined ? undefined : gateway,
    });
    const pages = serving.consolePort ?? consolePort;
    if (pages !== undefined) deployment.console?.bind(pages, () => this.#facts());
  }

  /** Returns the daemon's facts; those of the whole are fetched once, on first use. */
  #facts(): DaemonFacts {
    const { address } = this.#order;
    const { port, gatewayPort, problems } = this.#served;
    let asked: Promise<WholeFacts> | undefined;
    const whole = (): Promise<WholeFacts> => {
      asked ??= this.#channel.link.ask<WholeFacts>("facts");
      return asked;
    };
    return {
      ...{ address, port, gatewayPort, problems },
      connectionCount: async () => (await whole()).connectionCount,
      nodes: async () => (await whole()).nodes,
    };
  }
}

/** Opens a worker's state: its own registers over its parent's store and records. */
async function openWorkerState(
  link: Link,
  { policies }: Config,
  watch: StateWatch,
): Promise<StateOpening> {
  const joined = await link.ask<Joined>("join");
  const store = new ParentStore(link);
  const view = new ParentNode({ link, store, joined });
  const records = new ParentRecords(link, () => view.checkLease());
  const heads = new Map(joined.heads);
  const state = await openState({
    ...{ store, view, shared: { records, heads, events: joined.events }, ...watch },
    journalDirectory: undefined,
    tombstoneMs: policies.rcns.contractTtlSeconds * 1000,
  });
  link.serve({ save: () => state.save() });
  await view.start();
  const close = async (): Promise<void> => {
    await state.ledger.settled().catch(() => undefined);
    await view.close();
    await state.close();
  };
  const kept = createProcessState({ ...state, close });
  shareRates(link, kept);
  return { opened: kept };
}
