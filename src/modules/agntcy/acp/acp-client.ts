/**
 * The calls of the Agent Connect Protocol that this server makes, as its servers answer them in truth:
 * the agent is always named, a configuration always sent, a stream's mode never asked for, and a run
 * always created before anything is awaited, so that its id is known whatever comes. What is answered at
 * once goes over short connections, what waits for an agent over long ones.
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { discardBody } from "../../../handlers/connection-options.ts";
import {
  type AcpAgent,
  type AcpOutcome,
  type AcpRun,
  type AcpRunStatus,
  type AcpThread,
  readAgent,
  readRun,
  readThread,
  readVerdict,
  toOutcome,
  type Verdict,
} from "./acp-answers.ts";
import {
  type AcpAnswer,
  type AcpConnection,
  type AcpFailure,
  type AcpRequest,
  type AcpResponse,
  type CredentialShield,
  callAcp,
  isFailure,
  malformed,
  openAcp,
  shieldCredentials,
} from "./acp-call.ts";

/** The content of a run that is to begin. */
export interface RunCreation {
  readonly agentId: string;
  readonly input: unknown;
  readonly config: unknown;
  readonly metadata: JsonRecord;
  /** Undefined: a run without a thread. */
  readonly threadId: string | undefined;
}

/** The agent's configuration goes where the protocol has it, and what it has is there even if empty. */
function creationBody(creation: RunCreation): JsonRecord {
  const { agentId, input, config, metadata, threadId } = creation;
  return {
    agent_id: agentId,
    input,
    config: { configurable: config ?? {} },
    metadata,
    // This server comes back for the run, and must find it when it does.
    on_disconnect: "continue",
    ...(threadId === undefined ? { on_completion: "keep" } : {}),
  };
}

/** The two ways to one server: calls that wait must not keep others from their turn. */
interface AcpConnections {
  readonly short: AcpConnection;
  readonly long: AcpConnection;
}

/** The longest that calls may take which do not wait for an agent. */
const CALL_TIMEOUT_MS = 10_000;
/** The length of a list that is asked for: left to itself a server lists ten. */
const LONG_LIST = 100;

/** The server does not like how it was asked. */
function isRefused({ status }: AcpFailure): boolean {
  return status === 400 || status === 422;
}

export interface RunAddress {
  readonly runId: string;
  readonly threadId: string | undefined;
}

const MAX_RUNS_LISTED = 1000;

export class AcpClient {
  readonly #short: AcpConnection;
  readonly #long: AcpConnection;
  /** For what is read of a stream; answers have been through it. */
  readonly shield: CredentialShield;
  /**
   * True if its server streams runs as it creates them, and finds them; undefined: not known yet.
   */
  beginsByStreaming: boolean | undefined;
  #takesNoLimit = false;

  constructor({ short, long }: AcpConnections) {
    this.#short = short;
    this.#long = long;
    this.shield = shieldCredentials(long.headers);
  }

  /** The agents of a name and version, as the server orders them. */
  async searchAgents(
    name: string,
    version: string,
    signal: AbortSignal,
  ): Promise<AcpOutcome<readonly AcpAgent[]>> {
    const answer = await this.#post("/agents/search", { name, version, limit: 10 }, signal);
    return toOutcome(answer, (body) => {
      if (!Array.isArray(body)) return undefined;
      const agents = body.map(readAgent);
      return agents.every((agent) => agent !== undefined) ? agents : undefined;
    });
  }

  /** The agent's descriptor, as it is. */
  async descriptor(agentId: string, signal: AbortSignal): Promise<AcpOutcome<JsonRecord>> {
    const answer = await this.#get(`/agents/${encodeURIComponent(agentId)}/descriptor`, signal);
    return toOutcome(answer, (body) => (isRecord(body) ? body : undefined));
  }

  createRun(creation: RunCreation, signal: AbortSignal): Promise<AcpOutcome<AcpRun>> {
    const { threadId } = creation;
    const path = threadId === undefined ? "/runs" : `/threads/${encodeURIComponent(threadId)}/runs`;
    return this.#run(this.#post(path, creationBody(creation), signal));
  }

  run(address: RunAddress, signal: AbortSignal): Promise<AcpOutcome<AcpRun>> {
    return this.#run(this.#ofRun(address, "", (path) => this.#get(path, signal)));
  }

  /** Goes on with an interrupted run. */
  resumeRun(
    address: RunAddress,
    payload: unknown,
    signal: AbortSignal,
  ): Promise<AcpOutcome<AcpRun>> {
    return this.#run(this.#ofRun(address, "", (path) => this.#post(path, payload, signal)));
  }

  /** Blocks until the run has come to something, or for as long as is given. */
  async waitForRun(
    address: RunAddress,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<AcpOutcome<Verdict>> {
    const answer = await this.#ofRun(address, "/wait", (path) =>
      callAcp(this.#long, { method: "GET", path, timeoutMs, signal }),
    );
    return toOutcome(answer, readVerdict);
  }

  /** Creates a run on a thread and blocks until it has come to something. */
  async runOnThread(
    creation: RunCreation & { readonly threadId: string },
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<AcpOutcome<{ readonly run: AcpRun | undefined }>> {
    const path = `/threads/${encodeURIComponent(creation.threadId)}/runs/wait`;
    const body = creationBody(creation);
    const answer = await callAcp(this.#long, { method: "POST", path, body, timeoutMs, signal });
    return toOutcome(answer, (value) => ({
      run: isRecord(value) ? readRun(value["run"]) : undefined,
    }));
  }

  /** The runs of a thread; what is no run is passed over. */
  async threadRuns(threadId: string, signal: AbortSignal): Promise<AcpOutcome<readonly AcpRun[]>> {
    const path = `/threads/${encodeURIComponent(threadId)}/runs`;
    const answer = await this.#list(path, signal);
    return toOutcome(answer, (body) => {
      if (!Array.isArray(body)) return undefined;
      return body.slice(0, MAX_RUNS_LISTED).flatMap((one) => readRun(one) ?? []);
    });
  }

  /** The agent's runs that stand in a way; what is no run is passed over. */
  async searchRuns(
    agentId: string,
    status: AcpRunStatus,
    signal: AbortSignal,
  ): Promise<AcpOutcome<readonly AcpRun[]>> {
    const wanted = { agent_id: agentId, status, limit: MAX_RUNS_LISTED };
    return toOutcome(await this.#post("/runs/search", wanted, signal), (body) =>
      Array.isArray(body) ? body.flatMap((one) => readRun(one) ?? []) : undefined,
    );
  }

  /** Creates a run and listens to it from its first moment on. */
  streamNewRun(
    creation: RunCreation,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<AcpResponse | AcpFailure> {
    const body = creationBody(creation);
    return this.#stream({ method: "POST", path: "/runs/stream", body, timeoutMs, signal });
  }

  /** The run's stream from now on. */
  streamRun(
    runId: string,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<AcpResponse | AcpFailure> {
    const path = `/runs/${encodeURIComponent(runId)}/stream`;
    return this.#stream({ method: "GET", path, timeoutMs, signal });
  }

  /** Calls a run off; what the protocol lets be chosen is left at what it is by itself. */
  async cancelRun(address: RunAddress, signal: AbortSignal): Promise<AcpOutcome<undefined>> {
    const answer = await this.#ofRun(address, "/cancel", (path) =>
      this.#post(path, undefined, signal),
    );
    return answer.kind === "failed" ? answer : { kind: "ok", value: undefined };
  }

  /** The server's description of its own calls, where it has one: an OpenAPI document. */
  description(signal: AbortSignal): Promise<AcpAnswer> {
    return this.#get("/openapi.json", signal);
  }

  /** The answer to POST on a path of a run; for telling an unknown run from an unknown path. */
  probe(runId: string, action: string, signal: AbortSignal): Promise<AcpAnswer> {
    const path = `/runs/${encodeURIComponent(runId)}/${action}`;
    return this.#post(path, undefined, signal);
  }

  async createThread(metadata: JsonRecord, signal: AbortSignal): Promise<AcpOutcome<AcpThread>> {
    return toOutcome(await this.#post("/threads", { metadata }, signal), readThread);
  }

  async thread(threadId: string, signal: AbortSignal): Promise<AcpOutcome<AcpThread>> {
    return toOutcome(
      await this.#get(`/threads/${encodeURIComponent(threadId)}`, signal),
      readThread,
    );
  }

  /** Runs of threads are looked for among all runs first: a server may keep them apart. */
  async #ofRun(
    { runId, threadId }: RunAddress,
    below: string,
    call: (path: string) => Promise<AcpAnswer>,
  ): Promise<AcpAnswer> {
    const path = `/runs/${encodeURIComponent(runId)}${below}`;
    const answer = await call(path);
    if (threadId === undefined || !isUnknown(answer)) return answer;
    return call(`/threads/${encodeURIComponent(threadId)}${path}`);
  }

  #get(path: string, signal: AbortSignal): Promise<AcpAnswer> {
    return callAcp(this.#short, { method: "GET", path, timeoutMs: CALL_TIMEOUT_MS, signal });
  }

  /** Posts a body; undefined: none. */
  #post(path: string, body: unknown, signal: AbortSignal): Promise<AcpAnswer> {
    const call = { method: "POST", path, timeoutMs: CALL_TIMEOUT_MS, signal } as const;
    return callAcp(this.#short, body === undefined ? call : { ...call, body });
  }

  /** A list; a server that takes no parameters is asked without from then on. */
  async #list(path: string, signal: AbortSignal): Promise<AcpAnswer> {
    if (!this.#takesNoLimit) {
      const answer = await this.#get(`${path}?limit=${LONG_LIST}`, signal);
      if (answer.kind !== "failed" || !isRefused(answer)) return answer;
    }
    const answer = await this.#get(path, signal);
    // It may have been something else that it did not like.
    if (answer.kind === "answered") this.#takesNoLimit = true;
    return answer;
  }

  /** A stream as it begins; anything but one is a failure. */
  async #stream(call: AcpRequest): Promise<AcpResponse | AcpFailure> {
    const response = await openAcp(this.#long, call);
    if (isFailure(response)) return response;
    const isStream = /^text\/event-stream\b/i.test(String(response.headers["content-type"] ?? ""));
    if (response.statusCode === 200 && isStream) return response;
    discardBody(response);
    return malformed("is no event stream", response.statusCode);
  }

  async #run(answer: Promise<AcpAnswer>): Promise<AcpOutcome<AcpRun>> {
    return toOutcome(await answer, readRun);
  }
}

function isUnknown(answer: AcpAnswer): boolean {
  return answer.kind === "failed" && answer.status === 404;
}
