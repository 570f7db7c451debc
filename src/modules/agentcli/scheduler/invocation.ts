/** Calls a scheduler's command line: a program, a Node script, or an npm prefix. */
import { given, isRecord, parseJson, parseRecord, textIn } from "../../../base/json-value.ts";
import { type Failure, failure, isFailure } from "../failure.ts";
import type { World } from "../world.ts";

const TIMEOUT_MS = 60_000;

/** The scheduler's location; a prefix takes precedence. */
export interface SchedulerLocation {
  readonly prefix: string | undefined;
  readonly bin: string | undefined;
  readonly dbPath: string | undefined;
}

interface Invocation {
  readonly program: string;
  readonly args: readonly string[];
  /** The name in messages. */
  readonly label: string;
}

/** Returns how to invoke a scheduler. */
export function locateScheduler({ prefix, bin }: SchedulerLocation): Invocation {
  if (prefix !== undefined && prefix !== "") {
    const args = ["exec", "--prefix", prefix, "openclaw-scheduler", "--"];
    return { program: "npm", args, label: ["npm", ...args].join(" ") };
  }
  const program = bin === undefined || bin === "" ? "openclaw-scheduler" : bin;
  if (!program.endsWith(".js")) return { program, args: [], label: program };
  const { execPath } = process;
  return { program: execPath, args: [program], label: `${execPath} ${program}` };
}

/** Calls a scheduler and reads its JSON. */
export class SchedulerClient {
  readonly #world: World;
  readonly #invocation: Invocation;
  readonly #env: Readonly<Record<string, string>>;

  constructor(location: SchedulerLocation, world: World) {
    const { dbPath } = location;
    this.#world = world;
    this.#invocation = locateScheduler(location);
    this.#env = {
      ...world.env,
      ...given({ SCHEDULER_DB: dbPath }),
    };
  }

  get label(): string {
    return this.#invocation.label;
  }

  /** Undefined if the scheduler cannot report them, like older ones. */
  async capabilities(): Promise<unknown> {
    const answer = await this.#ask(["capabilities"]);
    return isFailure(answer) ? undefined : answer;
  }

  async listJobs(): Promise<readonly unknown[] | Failure> {
    const answer = await this.#ask(["jobs", "list"]);
    if (isFailure(answer)) return answer;
    if (Array.isArray(answer)) return answer;
    return failure("scheduler_error", `${this.label}: jobs list answered no list`);
  }

  /** The reason that the scheduler would refuse a new job; undefined if it would not, or is too old to tell. */
  async refusalOf(spec: string): Promise<Failure | undefined> {
    const args = ["jobs", "validate", spec];
    const said = await this.#call(args);
    if (isFailure(said)) return said;
    // Without this command, older schedulers print their usage.
    if (!said.stdout.trimStart().startsWith("{")) return undefined;
    const answer = readAnswer(said.stdout, said.what);
    return isFailure(answer) ? answer : undefined;
  }

  /** `spec` is JSON. */
  addJob(spec: string): Promise<unknown> {
    return this.#ask(["jobs", "add", spec]);
  }

  updateJob(id: string, spec: string): Promise<unknown> {
    return this.#ask(["jobs", "update", id, spec]);
  }

  deleteJob(id: string): Promise<unknown> {
    return this.#ask(["jobs", "delete", id]);
  }

  async #ask(args: readonly string[]): Promise<unknown> {
    const said = await this.#call(args);
    return isFailure(said) ? said : readAnswer(said.stdout, said.what);
  }

  async #call(args: readonly string[]): Promise<Said | Failure> {
    const { program, args: prefix, label } = this.#invocation;
    const end = await this.#world.runProgram({
      program,
      args: [...prefix, "--json", ...args],
      env: this.#env,
      directory: this.#world.directory,
      timeoutMs: TIMEOUT_MS,
    });
    const what = `${label} --json ${args.slice(0, 2).join(" ")}`;
    if (end.kind === "fault") {
      const message = `Failed to execute scheduler command: ${what}: ${end.message}`;
      return failure("scheduler_error", message);
    }
    if (end.code !== 0) {
      const said = reasonIn(end.stderr) || messageOf(end.stdout);
      return failure("scheduler_error", said ?? `Scheduler command failed (${end.code}): ${what}`);
    }
    return { stdout: end.stdout, what };
  }
}

/** The output of a successful call. */
interface Said {
  readonly stdout: string;
  /** The call, for messages. */
  readonly what: string;
}

function readAnswer(stdout: string, what: string): unknown {
  if (stdout.trim() === "") return null;
  const answer = parseJson(stdout);
  if (answer === undefined) {
    return failure("scheduler_error", `Scheduler command returned invalid JSON: ${what}`);
  }
  // The output counts even if the exit code is 0, so that no failed write is reported as done.
  if (!isRecord(answer) || answer["ok"] !== false) return answer;
  return failure("scheduler_error", messageOf(stdout) ?? `Scheduler command refused: ${what}`);
}

/** Extracts the message of an uncaught exception from Node's output of code and stack. */
function reasonIn(stderr: string): string {
  const [, thrown] = /^\w*Error: (.+)\n +at /m.exec(stderr) ?? [];
  return thrown ?? stderr.trim();
}

/** Some errors are JSON on standard output. */
function messageOf(stdout: string): string | undefined {
  return textIn(parseRecord(stdout)?.["error"]);
}
