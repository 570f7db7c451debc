/**
 * The conversation between the daemon and one process, from its hello to its end. Each call is
 * answered once; messages that belong to no call are logged and dropped; protocol errors go to the
 * log, and fail the process's calls.   docs/processes.md
 */
import { quietened } from "../../base/back-off.ts";
import {
  isRecord,
  type JsonRecord,
  memberOf,
  quoteValue,
  recordIn,
} from "../../base/json-value.ts";
import type { Line } from "../../base/line-reader.ts";
import { besideOwn } from "../../base/log.ts";
import type { ProcessGroups } from "../../base/process-groups.ts";
import type { CallLog, HandlerResult } from "../handler.ts";
import { PendingCalls, ProcessDispatches } from "./pending-calls.ts";
import { type ProcessCall, ProcessFault, type ProcessLog } from "./process-call.ts";
import { ProcessChild } from "./process-child.ts";
import {
  type FunctionSignature,
  PROTOCOL,
  type ProcessMessage,
  readProcessLine,
} from "./process-message.ts";
import type { ProcessSettings } from "./processes-section.ts";

export interface SessionParts {
  readonly settings: ProcessSettings;
  readonly groups: ProcessGroups;
  readonly log: ProcessLog;
  /** The maximum length of a line of the process. */
  readonly maxLineBytes: number;
  readonly helloTimeoutMs: number;
}

/** The functions that a process declared in its hello, with their parameters. */
export type OfferedFunctions = ReadonlyMap<string, FunctionSignature | undefined>;

interface SessionListener {
  onReady(functions: OfferedFunctions): void;
  /** Called once a call is over, which frees a slot. */
  onRoom(): void;
  /** Called once, when it stops taking calls; its process may still be ending. */
  onOver(reason: string): void;
}

const MAX_EXCERPT = 200;
/** Why: most languages buffer output to a pipe. */
const SILENT = "no whole line came from its standard output (is each one flushed?)";
/** The last lines of standard error that are kept to explain a failed start. */
const MAX_LINES = 6;

export class ProcessSession {
  readonly #parts: SessionParts;
  readonly #listener: SessionListener;
  readonly #child: ProcessChild;
  readonly #calls: PendingCalls;
  readonly #dispatches: ProcessDispatches;
  readonly #helloTimer: NodeJS.Timeout;
  readonly #warnStray: (reason: string, excerpt: string) => void;
  #state: "starting" | "ready" | "over" = "starting";
  readonly #lastLines: string[] = [];
  #lastStray: string | undefined;
  readonly #allowance: LogAllowance;

  constructor(parts: SessionParts, listener: SessionListener) {
    this.#parts = parts;
    this.#listener = listener;
    const { settings, groups, maxLineBytes, helloTimeoutMs } = parts;
    this.#child = new ProcessChild(settings, groups, maxLineBytes, {
      onLine: (line) => this.#hear(line),
      onOutput: (text) => this.#hearOutput(text),
      onSilence: () => void this.end("has closed its standard output"),
      onEnd: (reason) => void this.end(reason),
    });
    const write = (line: string, done?: () => void): void => this.#child.write(line, done);
    this.#calls = new PendingCalls(write, () => {
      void this.end("did not answer a cancelled call within 2 s");
    });
    this.#dispatches = new ProcessDispatches(this.#calls, write, () => {
      void this.end("asks without reading the answers");
    });
    const late = `said no hello within ${helloTimeoutMs / 1000} s`;
    this.#helloTimer = setTimeout(() => {
      void this.end(`${late}: ${this.#lastStray ?? SILENT}`);
    }, helloTimeoutMs);
    this.#warnStray = quietened((reason, excerpt) => {
      const message = `process "${settings.name}" printed a line that is dropped: it ${reason}`;
      this.#warn({ event: "process-stray", reason, line: excerpt }, message);
    });
    this.#allowance = new LogAllowance(({ lines, octets }) => {
      const most = `more than ${LOGGED_OCTETS_PER_SECOND} octets of log a second`;
      const message = `process "${settings.name}" writes ${most}: ${lines} lines were dropped`;
      this.#warn({ event: "process-output-dropped", lines, octets }, message);
    });
  }

  get isReady(): boolean {
    return this.#state === "ready";
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** The number of calls, cancelled ones without an answer included. */
  get load(): number {
    return this.#calls.size;
  }

  /** The last lines of its standard error, six at most. */
  get lastLines(): readonly string[] {
    return this.#lastLines;
  }

  /** Resolves once the process is gone. */
  get ended(): Promise<void> {
    return this.#child.ended;
  }

  /** Calls a function. Rejects if it has no result, and if its signal aborts. */
  call(call: ProcessCall): Promise<HandlerResult> {
    if (this.#state === "ready") return this.#calls.add(call);
    return Promise.reject(new ProcessFault("the process is not there"));
  }

  /** Ends the process; its calls fail with the reason, which is logged. */
  end(reason: string): Promise<void> {
    if (this.#state !== "over") {
      this.#state = "over";
      clearTimeout(this.#helloTimer);
      const { name } = this.#parts.settings;
      this.#calls.failAll(new ProcessFault(`process "${name}" ${reason}`));
      this.#listener.onOver(reason);
    }
    return this.#child.end();
  }

  #hear(line: Line): void {
    if (this.#state === "over") return;
    if (line.kind === "too-long") {
      void this.end(`wrote a line of more than ${this.#parts.maxLineBytes} bytes`);
      return;
    }
    const reason = this.#take(readProcessLine(line.octets), line.octets.length);
    if (reason === undefined) return;
    const excerpt = line.octets.subarray(0, MAX_EXCERPT).toString("utf8");
    this.#lastStray = `the last line of its standard output ${reason}: ${quoteValue(excerpt)}`;
    this.#warnStray(reason, excerpt);
  }

  /** Handles a message; returns the reason if it is dropped. */
  #take(message: ProcessMessage, octets: number): string | undefined {
    switch (message.kind) {
      case "hello":
        return this.#greet(message);
      case "result":
        return this.#settled(this.#calls.answer(message.id, message.result));
      case "error":
        return this.#settled(this.#calls.fail(message.id, message.message));
      case "dispatch":
        this.#dispatches.take(message.id, message.params);
        return undefined;
      case "log":
        if (this.#allowance.admits(octets)) {
          writeProcessLog(message.params, this.#calls, { ...this.#parts, pid: this.pid });
        }
        return undefined;
      case "unknown":
        this.#dispatches.refuseMethod(message.id, message.method);
        return undefined;
      case "stray":
        return message.reason;
    }
  }

  #greet({
    protocol,
    functions,
    signatures,
  }: ProcessMessage & { kind: "hello" }): string | undefined {
    if (this.#state === "ready") return "is a second hello";
    if (protocol !== PROTOCOL) {
      void this.end(`speaks protocol ${JSON.stringify(protocol)}, expected ${PROTOCOL}`);
      return undefined;
    }
    if (functions === undefined) {
      void this.end("said hello without a list of its functions");
      return undefined;
    }
    clearTimeout(this.#helloTimer);
    this.#state = "ready";
    this.#listener.onReady(
      new Map(
        functions.map((name) => {
          const signature = memberOf(signatures, name);
          return [name, isRecord(signature) ? signature : undefined];
        }),
      ),
    );
    return undefined;
  }

  #settled(isKnown: boolean): string | undefined {
    if (!isKnown) return "answers a call that there is not, or not any more";
    this.#listener.onRoom();
    return undefined;
  }

  #hearOutput(text: string): void {
    if (text.trim() === "") return;
    this.#lastLines.push(text);
    if (this.#lastLines.length > MAX_LINES) this.#lastLines.shift();
    if (!this.#allowance.admits(text.length)) return;
    const { settings, log } = this.#parts;
    log.info({ event: "process-output", process: settings.name, pid: this.pid }, text);
  }

  #warn(fields: object, message: string): void {
    const { settings, log } = this.#parts;
    log.warn({ ...fields, process: settings.name, pid: this.pid }, message);
  }
}

/** The log that a process's lines go to, and its identity there. */
interface LinePlace {
  readonly settings: { readonly name: string };
  readonly log: ProcessLog;
  readonly pid: number | undefined;
}

const MAX_MESSAGE = 8_192;

/** The reserved members of a process's log lines, beside those of every line. */
const OWN_MEMBERS = ["event", "process", "pid"];

/** Writes a process's `log` message to the log. */
function writeProcessLog(
  { call, level, message, fields }: JsonRecord,
  calls: Pick<PendingCalls, "unanswered">,
  { settings, log, pid }: LinePlace,
): void {
  const text = typeof message === "string" ? message : JSON.stringify(message ?? "");
  const own = { event: "process-log", process: settings.name, pid };
  const line = { ...own, ...besideOwn(recordIn(fields), OWN_MEMBERS) };
  writeAt(calls.unanswered(call)?.log ?? log, level, line, text.slice(0, MAX_MESSAGE));
}

/** Maps level names, including those of other languages' logs. */
function writeAt(
  log: ProcessLog & Partial<CallLog>,
  level: unknown,
  fields: object,
  message: string,
): void {
  switch (level) {
    case "trace":
    case "debug":
      log.debug?.(fields, message);
      break;
    case "warn":
    case "warning":
      log.warn(fields, message);
      break;
    case "error":
    case "critical":
    case "fatal":
      log.error(fields, message);
      break;
    default:
      log.info(fields, message);
  }
}

/** The maximum of log output by one process in a second. */
const LOGGED_OCTETS_PER_SECOND: number = 1_048_576;
const WINDOW_MS = 1_000;
/** The octets of a line beside its text: time, level and process. */
const LINE_OCTETS = 128;

/** The lines and octets dropped within a second. */
interface DroppedLines {
  readonly lines: number;
  readonly octets: number;
}

/**
 * Limits the log output of one process: lines beyond the limit are dropped, and their number is
 * logged once a second. Without it one process could burden the loop and the disk for everyone.
 */
class LogAllowance {
  readonly #onDropped: (dropped: DroppedLines) => void;
  #since = 0;
  #octets = 0;
  #dropped: DroppedLines = { lines: 0, octets: 0 };

  /** `onDropped` is called at most once a second, if lines were dropped. */
  constructor(onDropped: (dropped: DroppedLines) => void) {
    this.#onDropped = onDropped;
  }

  /** Returns false if a line with a text of this length has to be dropped. */
  admits(octets: number): boolean {
    const now = performance.now();
    if (now - this.#since >= WINDOW_MS) {
      this.#since = now;
      this.#octets = 0;
    }
    this.#octets += octets + LINE_OCTETS;
    if (this.#octets <= LOGGED_OCTETS_PER_SECOND) return true;
    this.#drop(octets);
    return false;
  }

  #drop(octets: number): void {
    const { lines } = this.#dropped;
    if (lines === 0) setTimeout(() => this.#tell(), WINDOW_MS).unref();
    this.#dropped = { lines: lines + 1, octets: this.#dropped.octets + octets };
  }

  #tell(): void {
    const dropped = this.#dropped;
    this.#dropped = { lines: 0, octets: 0 };
    this.#onDropped(dropped);
  }
}
