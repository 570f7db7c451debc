/**
 * Tells listeners that their list of tools changed. Each listener remembers the list it was shown. Whenever an agent's
 * tools may have changed, its listeners are compared again, in paced steps, and those with another list get one
 * notification for all changes meanwhile. MCP "List Changed Notification"
 */
import { hash } from "node:crypto";
import { MAX_TIMER_MS } from "../../../base/deadline.ts";
import type { Paced } from "../../../base/paced.ts";
import { type TaskQueue, THE_SERVER } from "../../../base/task-queue.ts";
import type { McpCaller, McpFront } from "../front.ts";
import { toolText } from "../tools/tool-description.ts";
import type { ListedTool } from "../tools/toolbox.ts";

/** A client that is notified of changes. */
export interface Listener {
  /** The caller of the latest request, whose token may have changed since. */
  caller: McpCaller;
  /** Stops its notifications. */
  end(): void;
}

interface Kept extends Listener {
  shown: readonly ListedTool[];
  tell(): void;
}

interface AudienceParts {
  readonly work: Pick<TaskQueue, "pace">;
  readonly stopping: AbortSignal;
  now(): number;
}

type Front = Pick<McpFront, "projection">;

export class Audience {
  readonly #parts: AudienceParts;
  /** By Agent-ID. */
  readonly #listeners = new Map<string, Set<Kept>>();
  readonly #same = new SameTools();
  readonly #timer: ExpiryTimer;
  #front: Front | undefined;
  /** Projections of deployments that are no longer served. */
  readonly #replaced = new WeakSet<Front["projection"]>();
  /** Agents whose listeners must be compared again. */
  readonly #changed = new Set<string>();
  #isLooking = false;

  constructor(parts: AudienceParts) {
    this.#parts = parts;
    this.#timer = new ExpiryTimer(parts.now, (agentId) => this.changed(agentId));
    parts.stopping.addEventListener("abort", () => this.#timer.stop(), { once: true });
  }

  /** Sets the served deployment, and compares every listener. */
  serve(front: Front): void {
    if (this.#front !== undefined) this.#replaced.add(this.#front.projection);
    this.#replaced.delete(front.projection);
    this.#front = front;
    for (const agentId of this.#listeners.keys()) this.#changed.add(agentId);
    this.#look();
  }

  /** Adds a client that was shown this deployment's tools. */
  add({ projection }: Front, caller: McpCaller, tell: () => void): Listener {
    const agentId = agentOf(caller);
    const listeners = this.#listeners.get(agentId) ?? new Set<Kept>();
    this.#listeners.set(agentId, listeners);
    const listener: Kept = {
      ...{ caller, tell, shown: projection.toolsOf(caller) },
      end: () => {
        listeners.delete(listener);
        if (listeners.size > 0 || this.#listeners.get(agentId) !== listeners) return;
        this.#listeners.delete(agentId);
        this.#timer.set(agentId, Number.POSITIVE_INFINITY);
      },
    };
    listeners.add(listener);
    this.#timer.set(agentId, projection.validUntil(agentId));
    // Its request began before a reload, whose comparison it missed.
    if (this.#replaced.has(projection)) this.changed(agentId);
    return listener;
  }

  /** Schedules a comparison after a change to an agent or its contracts. */
  changed(agentId: string): void {
    if (!this.#listeners.has(agentId)) return;
    this.#changed.add(agentId);
    this.#look();
  }

  #look(): void {
    if (this.#isLooking || this.#changed.size === 0) return;
    this.#isLooking = true;
    const { work, stopping } = this.#parts;
    void work
      .pace(this.#looking(), THE_SERVER, stopping)
      // A stopping server notifies nobody; its streams end instead.
      .catch(() => undefined)
      .finally(() => {
        this.#isLooking = false;
        if (!stopping.aborted) this.#look();
      });
  }

  *#looking(): Paced<void> {
    for (const agentId of this.#changed) {
      this.#changed.delete(agentId);
      for (const listener of this.#listeners.get(agentId) ?? []) {
        yield;
        yield* this.#lookAt(listener);
      }
      const front = this.#front;
      if (front !== undefined && this.#listeners.has(agentId)) {
        this.#timer.set(agentId, front.projection.validUntil(agentId));
      }
    }
  }

  *#lookAt(listener: Kept): Paced<void> {
    const front = this.#front;
    if (front === undefined) return;
    const { shown } = listener;
    const now = front.projection.toolsOf(listener.caller);
    listener.shown = now;
    const areSame = yield* this.#same.compare(shown, now);
    if (!areSame) listener.tell();
  }
}

function agentOf({ fields }: McpCaller): string {
  return fields.get("agent-id") ?? "";
}

type List = readonly ListedTool[];

/** Compares lists as clients see them; a result is cached while both lists exist. */
class SameTools {
  readonly #digests = new WeakMap<ListedTool, string>();
  readonly #found = new WeakMap<List, WeakMap<List, boolean>>();

  /** Compares two lists, one tool per step. */
  *compare(one: List, other: List): Paced<boolean> {
    if (one === other) return true;
    const found = this.#found.get(one) ?? new WeakMap<List, boolean>();
    this.#found.set(one, found);
    const known = found.get(other);
    if (known !== undefined) return known;
    const areSame = one.length === other.length && (yield* this.#compareEach(one, other));
    found.set(other, areSame);
    return areSame;
  }

  *#compareEach(one: List, other: List): Paced<boolean> {
    for (const [index, tool] of one.entries()) {
      const counterpart = other[index];
      if (tool === counterpart) continue;
      if (counterpart === undefined || tool.name !== counterpart.name) return false;
      yield;
      if (this.#digestOf(tool) !== this.#digestOf(counterpart)) return false;
    }
    return true;
  }

  #digestOf(tool: ListedTool): string {
    const known = this.#digests.get(tool);
    if (known !== undefined) return known;
    const { current, isOutputTold } = tool.description;
    const digest = hash("sha256", `${isOutputTold} ${toolText(current)}`);
    this.#digests.set(tool, digest);
    return digest;
  }
}

/** One timer for many expiry times; it does not keep the process alive. */
export class ExpiryTimer {
  readonly #now: () => number;
  readonly #over: (key: string) => void;
  readonly #times = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #firesAt = Number.POSITIVE_INFINITY;
  #isStopped = false;

  constructor(now: () => number, over: (key: string) => void) {
    this.#now = now;
    this.#over = over;
  }

  /** Sets a key's expiry in milliseconds since the epoch; infinity removes it. */
  set(key: string, at: number): void {
    if (at === Number.POSITIVE_INFINITY) this.#times.delete(key);
    else this.#times.set(key, at);
    if (at < this.#firesAt) this.#arm(at);
  }

  /** Stops the timer for good. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #arm(at: number): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#firesAt = at;
    const delay = Math.min(Math.max(at - this.#now(), 1), MAX_TIMER_MS);
    this.#timer = setTimeout(() => this.#fire(), delay);
    this.#timer.unref();
  }

  #fire(): void {
    this.#firesAt = Number.POSITIVE_INFINITY;
    const now = this.#now();
    const due = [...this.#times].filter(([, at]) => at <= now);
    const over = due.sort(([, one], [, other]) => one - other).map(([key]) => key);
    for (const key of over) this.#times.delete(key);
    const next = Math.min(...this.#times.values());
    if (next !== Number.POSITIVE_INFINITY) this.#arm(next);
    for (const key of over) this.#over(key);
  }
}

/** Maximal number of unread notifications on a stream. */
const MAX_UNREAD = 8;

/**
 * Notifications on one stream, of which only a few may be unread: a slow reader gets one further notification once it
 * has caught up, since one "list changed" is as good as many.
 */
export class BoundedNews {
  readonly #send: () => void;
  #unread = 0;
  #hasMissed = false;
  #isOpen = false;

  constructor(send: () => void) {
    this.#send = send;
  }

  /** Sends a notification, or notes that one was missed. */
  tell(): void {
    if (this.#unread >= MAX_UNREAD) {
      this.#hasMissed = true;
      return;
    }
    this.#unread += 1;
    this.#send();
  }

  /** True while a stream has a reader. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Wraps a response to follow its reader, and calls back at its end; a new stream has missed nothing. */
  watch(response: Response, onEnd: () => void = () => undefined): Response {
    const reader = response.body?.getReader();
    if (reader === undefined) return response;
    const end = (): void => {
      this.#isOpen = false;
      onEnd();
    };
    this.#isOpen = true;
    this.#unread = 0;
    this.#hasMissed = false;
    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const next = await reader.read();
          if (next.done) {
            end();
            return controller.close();
          }
          controller.enqueue(next.value);
          this.#caughtUp();
        },
        cancel: (reason) => {
          end();
          return reader.cancel(reason);
        },
      },
      { highWaterMark: 0 },
    );
    return new Response(body, response);
  }

  #caughtUp(): void {
    this.#unread = Math.max(this.#unread - 1, 0);
    if (!this.#hasMissed || this.#unread > 0) return;
    this.#hasMissed = false;
    this.tell();
  }
}
