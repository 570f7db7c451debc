/**
 * One of the places of a process: it has somebody in it as long as it is wanted. One that ends is
 * started again, 100 ms later, and the longer the oftener it ends, up to 30 s.
 */
import { type BackOff, pauseAfter } from "../../base/back-off.ts";
import { publishRestart } from "./process-channels.ts";
import { type OfferedFunctions, ProcessSession, type SessionParts } from "./process-session.ts";

interface WorkerListener {
  onReady(functions: OfferedFunctions): void;
  onRoom(): void;
  /** Nobody is in its place for so long. */
  onDown(pauseMs: number): void;
}

const PAUSES: BackOff = { firstMs: 100, longestMs: 30_000 };
/** A process that has lasted as long has begun well: the pauses are short again. */
const LASTING_MS = 10_000;

export class ProcessWorker {
  readonly #parts: SessionParts;
  readonly #listener: WorkerListener;
  /** All sessions, those on their way out among them. */
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

  /** Starts it for the first time: its functions, or why it cannot be had; then it is not tried again. */
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

  /** Undefined: nobody is there now. */
  get session(): ProcessSession | undefined {
    return this.#session?.isReady === true ? this.#session : undefined;
  }

  /** How long nobody is to be expected; 0: somebody is there, or on the way. */
  get pauseMs(): number {
    return this.#timer === undefined ? 0 : this.#pauseMs;
  }

  /** Ends it for good; resolves once nothing of it is left. */
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

/** The reason, as it follows the name of the process. */
export interface StartFault {
  readonly message: string;
  readonly hint?: string;
}

const MAX_WORDS = 200;
const MAX_HINT = 600;
const SERVES =
  "it has to say hello, and to serve until its standard input ends; in Python, run() has to be called";

/** The fault of a process that was over before its hello: it has most often said why. */
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

/** Tells it from the functions of a process that was started. */
export function isStartFault(outcome: OfferedFunctions | StartFault): outcome is StartFault {
  return "message" in outcome;
}
