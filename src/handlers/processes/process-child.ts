/**
 * One operating-system process, in a process group of its own that is ended as a whole: SIGTERM,
 * and SIGKILL two seconds later. When the group's leader exits, the rest of the group is killed.
 */
import type { Readable } from "node:stream";
import { type Line, LineReader } from "../../base/line-reader.ts";
import { killGroup, type ProcessGroups, startFault } from "../../base/process-groups.ts";
import type { ProcessSettings } from "./processes-section.ts";

interface ChildListener {
  /** Called for each line of standard output. */
  onLine(line: Line): void;
  /** Called for each line of standard error, bounded in length. */
  onOutput(text: string): void;
  /** Called if standard output closes while the process lives. */
  onSilence(): void;
  /** Called once it is gone or could not be started; the reason is for operators. */
  onEnd(reason: string): void;
}

const KILL_MS = 2_000;
/** How long descendants outside the group may hold the streams open. */
const STREAMS_MS = 500;
const MAX_OUTPUT_LINE = 8_192;

export class ProcessChild {
  readonly pid: number | undefined;
  /** Resolves once the process is gone. */
  readonly ended: Promise<void>;
  readonly #stdin: NodeJS.WritableStream | undefined;
  #isEnding = false;
  #isGone = false;

  constructor(
    settings: ProcessSettings,
    groups: ProcessGroups,
    maxLineBytes: number,
    listener: ChildListener,
  ) {
    const started = groups.start(settings);
    if (started.kind === "fault") {
      this.ended = Promise.resolve();
      this.#isGone = true;
      queueMicrotask(() => listener.onEnd(`cannot be started: ${started.message}`));
      return;
    }
    const { child } = started;
    this.pid = child.pid;
    this.#stdin = child.stdin;
    this.ended = new Promise((resolve) => {
      let reason: string | undefined;
      const end = (): void => {
        if (this.#isGone) return;
        this.#isGone = true;
        listener.onEnd(reason ?? "is gone");
        resolve();
      };
      child.on("error", (error) => {
        reason = startFault(error, settings.program);
        if (child.pid === undefined) end();
      });
      child.on("exit", (code, signal) => {
        reason = code === null ? `was ended by ${signal}` : `ended with code ${code}`;
        killGroup(child.pid);
        setTimeout(() => {
          child.stdout?.destroy();
          child.stderr?.destroy();
          end();
        }, STREAMS_MS).unref();
      });
      child.on("close", end);
    });
    // A process that does not read is noticed by its missing answers.
    child.stdin?.on("error", () => undefined);
    if (child.stdout !== undefined) {
      readLines(child.stdout, maxLineBytes, {
        onLine: (line) => listener.onLine(line),
        onEnd: () => {
          // Delayed, because a process that ends closes its output, too.
          setTimeout(() => {
            if (!this.#isGone) listener.onSilence();
          }, STREAMS_MS).unref();
        },
      });
    }
    if (child.stderr !== undefined) {
      readLines(child.stderr, MAX_OUTPUT_LINE, {
        onLine: (line) =>
          listener.onOutput(
            line.kind === "line" ? line.octets.toString("utf8") : "(a line that is too long)",
          ),
      });
    }
  }

  /** Writes to standard input; `done` is called once the line has left the buffer. */
  write(line: string, done?: () => void): void {
    if (this.#isGone || this.#stdin === undefined || !this.#stdin.writable) done?.();
    else this.#stdin.write(line, done);
  }

  /** Ends the process and its group. */
  end(): Promise<void> {
    if (this.#isEnding || this.#isGone || this.pid === undefined) return this.ended;
    this.#isEnding = true;
    this.#stdin?.end();
    killGroup(this.pid, "SIGTERM");
    const timer = setTimeout(() => {
      if (!this.#isGone) killGroup(this.pid);
    }, KILL_MS);
    void this.ended.finally(() => clearTimeout(timer));
    return this.ended;
  }
}

interface LineListener {
  onLine(line: Line): void;
  /** Called after the last line. */
  onEnd?(): void;
}

const SLICE_MS = 2;

function readLines(stream: Readable, maxBytes: number, listener: LineListener): void {
  const reader = new LineReader(maxBytes);

  function work(lines: Iterator<Line, void>): void {
    const until = performance.now() + SLICE_MS;
    for (let next = lines.next(); next.done !== true; next = lines.next()) {
      listener.onLine(next.value);
      if (performance.now() <= until) continue;
      // A paused stream emits no end, so no line is overtaken by it.
      stream.pause();
      setImmediate(work, lines);
      return;
    }
    stream.resume();
  }

  stream.on("data", (chunk: Buffer) => work(reader.push(chunk)));
  stream.on("end", () => {
    for (const line of reader.end()) listener.onLine(line);
    listener.onEnd?.();
  });
  stream.on("error", () => undefined);
}
