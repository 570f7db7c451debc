/**
 * An entry of `[[processes]]` while it runs: calls go to the least busy of its processes, and wait
 * where all of them have as many as they take. A call that dispatches to its own entry lends its place to that,
 * once at a time: else calls that fill a process would wait for each other until their time is up.
 */
import type { CallSurroundings } from "../call-upstream.ts";
import type { HandlerResult } from "../handler.ts";
import { type ProcessCall, ProcessFault } from "./process-call.ts";
import { publishCallEnd } from "./process-channels.ts";
import type { OfferedFunctions, ProcessSession, SessionParts } from "./process-session.ts";
import { isStartFault, ProcessWorker, type StartFault } from "./process-worker.ts";

export interface ProcessHealth {
  readonly name: string;
  /** So many there should be, and are ready. */
  readonly count: number;
  readonly ready: number;
  /** Calls under way, and calls that wait for room. */
  readonly calls: number;
  readonly waiting: number;
  readonly restarts: number;
  /** The mean of the latest calls, in milliseconds; undefined before the first. */
  readonly latencyMs: number | undefined;
}

interface Waiter {
  readonly call: ProcessCall;
  take(result: Promise<HandlerResult>): void;
  fail(fault: Error): void;
}

/** The place of a call in a process. */
interface Place {
  readonly session: ProcessSession;
  isLent: boolean;
}

/** Nobody waits for a process that is not even to be started for longer. */
const PATIENCE_MS = 1_000;
/** The weight of one call in the mean. */
const WEIGHT = 0.05;
const NO_FUNCTIONS: OfferedFunctions = new Map();

export class ProcessPool {
  readonly name: string;
  readonly #concurrency: number;
  readonly #workers: readonly ProcessWorker[];
  /** By the request that a call answers. */
  readonly #places = new Map<CallSurroundings, Place>();
  readonly #waiting = new Set<Waiter>();
  /** Those that another call of this entry waits for. */
  readonly #waitedFor = new Set<Waiter>();
  #functions: OfferedFunctions = NO_FUNCTIONS;
  #latencyMs: number | undefined;
  #isRetired = false;
  #closing: Promise<void> | undefined;
  #underWay = 0;

  constructor(parts: SessionParts) {
    const { name, count, concurrency } = parts.settings;
    this.name = name;
    this.#concurrency = concurrency;
    const listener = {
      onReady: (functions: OfferedFunctions) => {
        this.#functions = functions;
        this.#pump();
      },
      onRoom: () => this.#pump(),
      onDown: () => this.#giveUp(),
    };
    this.#workers = Array.from({ length: count }, () => new ProcessWorker(parts, listener));
  }

  /** Starts all of its processes; answers why one of them cannot be had. */
  async start(): Promise<StartFault | undefined> {
    const started = await Promise.all(this.#workers.map((worker) => worker.start()));
    const fault = started.find(isStartFault);
    if (fault !== undefined) await this.close();
    return fault;
  }

  /** The functions of the process that said hello last. */
  get functions(): OfferedFunctions {
    return this.#functions;
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  get health(): ProcessHealth {
    const sessions = this.#sessions();
    return {
      ...{ name: this.name, count: this.#workers.length, ready: sessions.length },
      calls: sessions.reduce((sum, { load }) => sum + load, 0),
      waiting: this.#waiting.size + this.#waitedFor.size,
      restarts: this.#workers.reduce((sum, { restarts }) => sum + restarts, 0),
      latencyMs: this.#latencyMs,
    };
  }

  /** Calls a function. Rejects where it has no result, and where its signal aborts. */
  async call(call: ProcessCall): Promise<HandlerResult> {
    const startedAt = performance.now();
    let isAnswered = false;
    this.#underWay += 1;
    try {
      const result = await (this.#begin(call) ?? this.#wait(call));
      isAnswered = true;
      return result;
    } finally {
      this.#underWay -= 1;
      if (call.request !== undefined) this.#places.delete(call.request);
      this.#measure(performance.now() - startedAt, isAnswered);
      if (this.#isRetired && this.#underWay === 0) void this.close();
    }
  }

  /** Others are in its place: it ends once its calls are over. */
  retire(): void {
    this.#isRetired = true;
    if (this.#underWay === 0) void this.close();
  }

  /** Ends it with all its calls; resolves once nothing of it is left. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#failWaiting(new ProcessFault(`process "${this.name}" is not needed any more`));
    await Promise.all(this.#workers.map((worker) => worker.close()));
  }

  #sessions(): readonly ProcessSession[] {
    return this.#workers.flatMap(({ session }) => session ?? []);
  }

  /** The least busy process that has room. */
  #free(): ProcessSession | undefined {
    let best: ProcessSession | undefined;
    for (const { session } of this.#workers) {
      if (session === undefined || session.load >= this.#concurrency) continue;
      if (best === undefined || session.load < best.load) best = session;
    }
    return best;
  }

  /** Calls it in a place of its own, or in one that is lent to it; undefined: there is none yet. */
  #begin(call: ProcessCall): Promise<HandlerResult> | undefined {
    const free = this.#free();
    if (free !== undefined) return this.#callAt(free, call);
    const lent = this.#lenderOf(call);
    if (lent === undefined) return undefined;
    lent.isLent = true;
    return this.#callAt(lent.session, call).finally(() => {
      lent.isLent = false;
      this.#pump();
    });
  }

  #callAt(session: ProcessSession, call: ProcessCall): Promise<HandlerResult> {
    if (call.request !== undefined) this.#places.set(call.request, { session, isLent: false });
    return session.call(call);
  }

  /** The place of one of the calls that wait for this one. */
  #lenderOf({ request }: ProcessCall): Place | undefined {
    return this.#placesAbove(request).find(({ session, isLent }) => session.isReady && !isLent);
  }

  #placesAbove(request: CallSurroundings | undefined): readonly Place[] {
    const places: Place[] = [];
    for (let above = waiterFor(request); above !== undefined; above = waiterFor(above)) {
      const place = this.#places.get(above);
      if (place !== undefined) places.push(place);
    }
    return places;
  }

  #wait(call: ProcessCall): Promise<HandlerResult> {
    const { signal, request } = call;
    if (signal.aborted || this.#isHopeless()) return Promise.reject(this.#absent());
    const isWaitedFor = this.#placesAbove(request).length > 0;
    const waiting = isWaitedFor ? this.#waitedFor : this.#waiting;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting.delete(waiter);
        signal.removeEventListener("abort", abort);
      };
      const waiter: Waiter = {
        call,
        take: (result) => {
          leave();
          result.then(resolve, reject);
        },
        fail: (fault) => {
          leave();
          reject(fault);
        },
      };
      const abort = (): void => waiter.fail(new ProcessFault("the call ended while it waited"));
      signal.addEventListener("abort", abort, { once: true });
      waiting.add(waiter);
    });
  }

  /** Begins waiting calls, the oldest first, where there is room; what others wait for goes before. */
  #pump(): void {
    for (const waiter of this.#waitedFor) this.#offer(waiter);
    for (const waiter of this.#waiting) if (!this.#offer(waiter)) return;
  }

  /** False: there is no room. */
  #offer(waiter: Waiter): boolean {
    const result = this.#begin(waiter.call);
    if (result === undefined) return false;
    waiter.take(result);
    return true;
  }

  #giveUp(): void {
    if (this.#isHopeless()) this.#failWaiting(this.#absent());
  }

  /** Nobody is there, and nobody will be soon. */
  #isHopeless(): boolean {
    return this.isClosed || this.#workers.every(({ pauseMs }) => pauseMs > PATIENCE_MS);
  }

  #absent(): ProcessFault {
    return new ProcessFault(`process "${this.name}" is not there`);
  }

  #failWaiting(fault: Error): void {
    for (const waiter of [...this.#waitedFor, ...this.#waiting]) waiter.fail(fault);
  }

  #measure(durationMs: number, isAnswered: boolean): void {
    publishCallEnd({ process: this.name, durationMs, isAnswered });
    if (!isAnswered) return;
    const before = this.#latencyMs ?? durationMs;
    this.#latencyMs = before + WEIGHT * (durationMs - before);
  }
}

/** The request or the work that waits for a request. */
function waiterFor(request: CallSurroundings | undefined): CallSurroundings | undefined {
  return request?.inner?.parent ?? request?.waitedForBy;
}
