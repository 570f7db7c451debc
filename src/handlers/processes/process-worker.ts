/**
 * Keeps one process of an entry running while it is wanted. A process that ends is restarted after
 * 100 ms, with a back-off of up to 30 s if it ends repeatedly.
 */
import { type BackOff, pauseAfter } from "../../base/back-off.ts";
import { publishRestart } from "./process-channels.ts";
import { type OfferedFunctions, ProcessSession, type SessionParts } from "./process-session.ts";

interface WorkerListener {
  onReady(functions: OfferedFunctions): void;
  onRoom(): void;
  /** Called when the process has ended, with the pause before its restart. */
  onDown(pauseMs: number): void;
}

const PAUSES: BackOff = { firstMs: 100, longestMs: 30_000 };
/** A process that ran for this long resets the back-off. */
const LASTING_MS = 10_000;

export class ProcessWorker {
  readonly #parts: SessionParts;
  readonly #listener: WorkerListener;
  /** The running session and those that are still ending. */
  readonly #sessions = new Set<ProcessSession>();
  #session: ProcessSession | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #isWanted = true;
  #pauseMs = 0;
  restarts = 0;

  constructor(parts: SessionParts, listener: WorkerListener) {
    this.#parts = parts;
    this.#listener = listener;
  }

  /**
   * Starts the process for the first time; resolves to its functions, or to the fault, after which
   * it is not retried.
   */
  start(): Promise<OfferedFunctions | StartFault> {
    return new Promise((resolve) => {
      let isFirst = true;
      this.#open((outcome) => {
        if (isFirst && isStartFault(outcome)) this.#isWanted = false;
        isFirst = false;
        resolve(outcome);
      });
    });
  }

  /** The ready session; undefined if there is none. */
  get session(): ProcessSession | undefined {
    return this.#session?.isReady === true ? this.#session : undefined;
  }

  /** The pause before the next restart; 0 if a process is running or starting. */
  get pauseMs(): number {
    return this.#timer === undefined ? 0 : this.#pauseMs;
  }

  /** Ends the process for good; resolves once its sessions are gone. */
  async close(): Promise<void> {
    this.#isWanted = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#session?.end("is not needed any more");
    await Promise.all([...this.#sessions].map(({ ended }) => ended));
  }

  #open(onFirst: (outcome: OfferedFunctions | StartFault) => void = () => undefined): void {
    let readyAt: number | undefined;
    const session = new ProcessSession(this.#parts, {
      onReady: (functions) => {
        readyAt = performance.now();
        const { log } = this.#parts;
        log.info({ event: "process-ready", ...this.#fieldsOf(session) }, this.#saying("is ready"));
        onFirst(functions);
        this.#listener.onReady(functions);
      },
      onRoom: () => this.#listener.onRoom(),
      onOver: (reason) => {
        onFirst(startFault(reason, session));
        this.#leave(session, reason, readyAt);
      },
    });
    this.#session = session;
    this.#sessions.add(session);
    void session.ended.then(() => this.#sessions.delete(session));
  }

  #leave(session: ProcessSession, reason: string, readyAt: number | undefined): void {
    this.#session = undefined;
    if (!this.#isWanted) return;
    const isLasting = readyAt !== undefined && performance.now() - readyAt >= LASTING_MS;
    this.#failures = isLasting ? 1 : this.#failures + 1;
    this.#pauseMs = pauseAfter(this.#failures, PAUSES);
    const message = this.#saying(`${reason}; it is started again in ${this.#pauseMs} ms`);
    this.#parts.log.error({ event: "process-ended", ...this.#fieldsOf(session) }, message);
    this.#timer = setTimeout(() => this.#restart(), this.#pauseMs);
    this.#listener.onDown(this.#pauseMs);
  }

  #restart(): void {
    this.#timer = undefined;
    this.restarts += 1;
    publishRestart({ process: this.#parts.settings.name });
    this.#open();
  }

  #fieldsOf({ pid }: ProcessSession): object {
    return { process: this.#parts.settings.name, pid };
  }

  #saying(message: string): string {
    return `process "${this.#parts.settings.name}" ${message}`;
  }
}

/** The reason a start failed, worded to follow the process's name. */
export interface StartFault {
  readonly message: string;
  readonly hint?: string;
}

const MAX_WORDS = 200;
const MAX_HINT = 600;
const SERVES =
  "it has to say hello, and to serve until its standard input ends; in Python, run() has to be called";

/** The fault of a process that ended before its hello, from the last lines that it wrote. */
function startFault(reason: string, { lastLines }: Pick<ProcessSession, "lastLines">): StartFault {
  const last = lastLines.at(-1);
  if (last === undefined) {
    return reason === "ended with code 0"
      ? { message: `${reason} before its hello`, hint: SERVES }
      : { message: reason };
  }
  const message = `${reason}: ${last.trim().slice(0, MAX_WORDS)}`;
  if (lastLines.length === 1) return { message };
  const before = lastLines.slice(0, -1).map((line) => line.trim());
  return { message, hint: `it wrote before: ${before.join(" | ").slice(-MAX_HINT)}` };
}

/** Returns true if a start failed. */
export function isStartFault(outcome: OfferedFunctions | StartFault): outcome is StartFault {
  return "message" in outcome;
}
