/**
 * A running entry of `[[processes]]`: calls go to the least busy of its processes, and queue while
 * all of them are at their limit. A call that dispatches to its own entry lends its slot to the
 * inner call, one at a time: otherwise calls that fill a process would wait for each other until
 * their deadlines.
 */
import type { CallSurroundings } from "../call-upstream.ts";
import type { HandlerResult } from "../handler.ts";
import { type ProcessCall, ProcessFault } from "./process-call.ts";
import { publishCallEnd } from "./process-channels.ts";
import type { OfferedFunctions, ProcessSession, SessionParts } from "./process-session.ts";
import { isStartFault, ProcessWorker, type StartFault } from "./process-worker.ts";

export interface ProcessHealth {
  readonly name: string;
  /** The number of configured processes; `ready` of them take calls. */
  readonly count: number;
  readonly ready: number;
  /** The calls in progress; `waiting` calls are queued. */
  readonly calls: number;
  readonly waiting: number;
  readonly restarts: number;
  /** The moving average of a call's duration, in milliseconds; undefined before the first. */
  readonly latencyMs: number | undefined;
}

interface Waiter {
  readonly call: ProcessCall;
  take(result: Promise<HandlerResult>): void;
  fail(fault: Error): void;
}

/** A call's slot in a process. */
interface Place {
  readonly session: ProcessSession;
  isLent: boolean;
}

/** Calls fail at once if every process's restart is further away than this. */
const PATIENCE_MS = 1_000;
/** The weight of one call in the moving average. */
const WEIGHT = 0.05;
const NO_FUNCTIONS: OfferedFunctions = new Map();

export class ProcessPool {
  readonly name: string;
  readonly #concurrency: number;
  readonly #workers: readonly ProcessWorker[];
  /** The slots of running calls, by the request that each answers. */
  readonly #places = new Map<CallSurroundings, Place>();
  readonly #waiting = new Set<Waiter>();
  /** Queued calls that another call of this entry waits for. */
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

  /** Starts every process; returns the first fault if one fails, and then closes the pool. */
  async start(): Promise<StartFault | undefined> {
    const started = await Promise.all(this.#workers.map((worker) => worker.start()));
    const fault = started.find(isStartFault);
    if (fault !== undefined) await this.close();
    return fault;
  }

  /** The functions of the latest hello. */
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

  /** Calls a function. Rejects if it has no result, and if its signal aborts. */
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

  /** Another pool replaces this one: it closes once its calls are over. */
  retire(): void {
    this.#isRetired = true;
    if (this.#underWay === 0) void this.close();
  }

  /** Ends the processes with their calls; resolves once they are gone. */
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

  /** The least busy process with a free slot. */
  #free(): ProcessSession | undefined {
    let best: ProcessSession | undefined;
    for (const { session } of this.#workers) {
      if (session === undefined || session.load >= this.#concurrency) continue;
      if (best === undefined || session.load < best.load) best = session;
    }
    return best;
  }

  /** Starts a call in a free slot or a lent one; undefined if there is none. */
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

  /** The slot of an outer call that waits for this one, if it is not lent yet. */
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

  /** Starts queued calls, oldest first, while there are free slots; calls that others wait for go first. */
  #pump(): void {
    for (const waiter of this.#waitedFor) this.#offer(waiter);
    for (const waiter of this.#waiting) if (!this.#offer(waiter)) return;
  }

  /** Starts a queued call; returns false if there is no slot. */
  #offer(waiter: Waiter): boolean {
    const result = this.#begin(waiter.call);
    if (result === undefined) return false;
    waiter.take(result);
    return true;
  }

  #giveUp(): void {
    if (this.#isHopeless()) this.#failWaiting(this.#absent());
  }

  /** True if no process runs and none will start soon. */
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

/** The request or work that waits for a request. */
function waiterFor(request: CallSurroundings | undefined): CallSurroundings | undefined {
  return request?.inner?.parent ?? request?.waitedForBy;
}
