/**
 * Nodes that serve, over one store and within one process: each has a deployment that gives way to one of other files,
 * hears late of what the other node has done, is held for gone while it works, and starts anew as after a crash.
 */
import type fc from "fast-check";
import { MODULES } from "../../src/app/modules.ts";
import { createProcessState, type ProcessState } from "../../src/dispatch/process-state.ts";
import type { Holders } from "../../src/state/holders.ts";
import { openState, type ViewLease } from "../../src/state/state.ts";
import type { Store } from "../../src/state/store.ts";
import { type DeploymentFiles, makeDeployment, type TestDeployment } from "./deployment.ts";
import { createServer, type TestServer } from "./dispatch.ts";
import { type At, HearingNode, runAll } from "./hearing-nodes.ts";

/** A process that serves: what it keeps through every reload, and the deployment by its files. */
export interface Served {
  readonly kept: ProcessState;
  readonly server: TestServer;
  readonly name: string;
}

/** By name, the files that a node may serve; the first of them at its start. */
export type FilesByName = Readonly<Record<string, DeploymentFiles>>;

interface ServingOptions {
  readonly store: Store;
  readonly files: FilesByName;
  /** The names of the modules. */
  readonly modules: readonly string[];
  /** Awaited before a commit is made, and before its answer arrives. */
  pause(): Promise<unknown>;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** Two of them, of which each commit is heard by the other before it is answered, where it has to be. */
export class ServingNodes {
  readonly #options: ServingOptions;
  readonly #deployments: ReadonlyMap<string, TestDeployment>;
  readonly #all: readonly [HearingNode<Served>, HearingNode<Served>];
  /** By node, those who wait for it to hear of something. */
  readonly #heard: readonly [Set<() => void>, Set<() => void>] = [new Set(), new Set()];
  /** By what is under way, whether its process lives. */
  readonly #work = new Map<Promise<unknown>, () => boolean>();
  /** The processes that the other node holds for gone though they work. */
  readonly #silent = new Set<string>();
  /** Those that have not heard of everything since. */
  readonly #behind = new Set<string>();
  /** By node, those who want to know that another process is gone. */
  readonly #heedful: readonly [Set<() => void>, Set<() => void>] = [new Set(), new Set()];

  constructor(options: ServingOptions) {
    this.#options = options;
    this.#deployments = new Map(
      Object.entries(options.files).map(([name, files]) => [name, makeDeployment(files)]),
    );
    this.#all = [this.#make(0, 1), this.#make(1, 0)];
  }

  async start(): Promise<void> {
    for (const node of this.#all) await node.start();
  }

  at(at: At): HearingNode<Served> {
    return this.#all[at];
  }

  /** The node as what answers requests; one that is killed before it answers never does. */
  answering(at: At): Pick<TestServer, "send"> {
    const node = this.#all[at];
    return {
      send: async (...args) => {
        const { life } = node;
        const reply = await this.#busy(at, node.registers.server.send(...args));
        return life === node.life ? reply : new Promise(() => undefined);
      },
    };
  }

  /** Serves other files from now on; what has begun goes on with those before. */
  reload(at: At, name: string): Promise<void> {
    return this.#busy(at, this.#reload(at, name));
  }

  /** Begins a node anew, as after a crash. */
  restart(at: At): Promise<void> {
    // They stay for the next start, which this one may give way to.
    const waiting = [...this.#heard[at]];
    this.#heedful[at].clear();
    const started = this.#all[at].start().then(() => {
      for (const tell of waiting) tell();
    });
    void this.#tellOfGone(at);
    return this.#busy(at, started);
  }

  /** Nothing is heard of a node, which the other one holds for gone: it serves nobody, and goes on with its work. */
  fallSilent(at: At): Promise<void> {
    this.#silent.add(this.#processOf(at));
    return this.#tellOfGone(at);
  }

  /** A node is heard of again: it serves once it has heard of everything itself. */
  async speakAgain(at: At): Promise<void> {
    const process = this.#processOf(at);
    if (!this.#silent.delete(process)) return;
    this.#behind.add(process);
    await this.#all[at].hear();
    this.#behind.delete(process);
  }

  isSilent(at: At): boolean {
    return this.#silent.has(this.#processOf(at));
  }

  #processOf(at: At): string {
    return `${at} ${this.#all[at].life}`;
  }

  /** The other node learns that a process is gone, long after it has heard of what that one had done. */
  async #tellOfGone(gone: At): Promise<void> {
    const at = gone === 0 ? 1 : 0;
    await this.#all[at].hear();
    for (const onGone of [...this.#heedful[at]]) onGone();
  }

  /** Resolves once a node has heard of everything, has started with it, or serves nobody. */
  async #hears(at: At): Promise<void> {
    if (this.isSilent(at)) return;
    const waiting = this.#heard[at];
    let tell: () => void = () => undefined;
    const heard = new Promise<void>((resolve, reject) => {
      tell = resolve;
      this.#all[at].hear().then(resolve, reject);
    });
    waiting.add(tell);
    await heard.finally(() => waiting.delete(tell));
  }

  /** Stores what has expired meanwhile, as every node does from time to time. */
  sweep(at: At): Promise<unknown> {
    return this.#busy(at, this.#all[at].registers.kept.state.escalations.sweep());
  }

  /** Runs what waits for the scheduler until every node that was not killed has answered; `meanwhile` lets it. */
  async idle(scheduler: fc.Scheduler, meanwhile: () => void = () => undefined): Promise<void> {
    do {
      meanwhile();
      await runAll(scheduler);
    } while ([...this.#work.values()].some((lives) => lives()));
  }

  #busy<Done>(at: At, work: Promise<Done>): Promise<Done> {
    const { life } = this.#all[at];
    this.#work.set(work, () => life === this.#all[at].life);
    return work.finally(() => this.#work.delete(work));
  }

  async #reload(at: At, name: string): Promise<void> {
    const node = this.#all[at];
    const { life } = node;
    const { kept, server } = node.registers;
    const served = await this.#load(kept, name);
    if (life !== node.life) return;
    node.registers = served;
    await server.deployment.retire();
  }

  #make(at: At, other: At): HearingNode<Served> {
    const { store: shared, pause, now, files } = this.#options;
    const [name = ""] = Object.keys(files);
    const node: HearingNode<Served> = new HearingNode(shared, {
      open: async (store) => {
        const self = this.#processOf(at);
        const lives = (): readonly string[] =>
          this.#all.map((_, one) => this.#processOf(one as At));
        const heedful = this.#heedful[at];
        const isFresh = (): boolean => !this.#silent.has(self) && !this.#behind.has(self);
        const holders: Holders = {
          self,
          isGone: (process) =>
            process !== self && (this.#silent.has(process) || !lives().includes(process)),
          watch: (onGone) => {
            heedful.add(onGone);
            return () => void heedful.delete(onGone);
          },
        };
        const view: ViewLease = {
          get isFresh() {
            return isFresh();
          },
          ...{ holders, catchUp: () => node.hear() },
        };
        const state = await openState({
          ...{ store, journalDirectory: undefined, now },
          view,
          onFault: (error) => {
            throw error;
          },
        });
        return this.#load(createProcessState(state), name);
      },
      pause,
      everywhere: () => this.#hears(other),
    });
    return node;
  }

  async #load(kept: ProcessState, name: string): Promise<Served> {
    const deployment = this.#deployments.get(name);
    if (deployment === undefined) throw new Error(`there are no files "${name}"`);
    const modules = MODULES.filter((one) => this.#options.modules.includes(one.name));
    return { kept, name, server: await createServer(deployment, { kept, modules }) };
  }
}
