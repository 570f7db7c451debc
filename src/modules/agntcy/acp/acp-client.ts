/**
 * The calls of the Agent Connect Protocol in the form that real servers accept: the agent is always named, a
 * configuration always sent, a stream mode never requested, and a run always created before it is awaited, so that its
 * id is known in any case. Immediate calls use short connections, waiting calls long ones.
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

/** The parameters of a new run. */
export interface RunCreation {
  readonly agentId: string;
  readonly input: unknown;
  readonly config: unknown;
  readonly metadata: JsonRecord;
  /** Undefined for a run without a thread. */
  readonly threadId: string | undefined;
}

/** Places the agent's configuration where the protocol has it, even if empty. */
function creationBody(creation: RunCreation): JsonRecord {
  const { agentId, input, config, metadata, threadId } = creation;
  return {
    agent_id: agentId,
    input,
    config: { configurable: config ?? {} },
    metadata,
    // This server returns to the run after disconnecting.
    on_disconnect: "continue",
    ...(threadId === undefined ? { on_completion: "keep" } : {}),
  };
}

/** Separate connections to one server, so that waiting calls do not delay others. */
interface AcpConnections {
  readonly short: AcpConnection;
  readonly long: AcpConnection;
}

/** The timeout of calls that do not wait for an agent. */
const CALL_TIMEOUT_MS = 10_000;
/** The list length to request; servers default to ten. */
const LONG_LIST = 100;

/** Tells whether the server rejected the parameters. */
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
  /** The shield for streams; other answers are already shielded. */
  readonly shield: CredentialShield;
  /** True if the server streams runs from their creation and lists them; undefined until known. */
  beginsByStreaming: boolean | undefined;
  #takesNoLimit = false;

  constructor({ short, long }: AcpConnections) {
    this.#short = short;
    this.#long = long;
    this.shield = shieldCredentials(long.headers);
  }

  /** Finds the agents of a name and version, in the server's order. */
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

  /** Returns the agent's descriptor unchanged. */
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

  /** Resumes an interrupted run. */
  resumeRun(
    address: RunAddress,
    payload: unknown,
    signal: AbortSignal,
  ): Promise<AcpOutcome<AcpRun>> {
    return this.#run(this.#ofRun(address, "", (path) => this.#post(path, payload, signal)));
  }

  /** Waits until the run has an outcome or the timeout expires. */
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

  /** Creates a run on a thread and waits for its outcome. */
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

  /** Lists the runs of a thread, skipping invalid entries. */
  async threadRuns(threadId: string, signal: AbortSignal): Promise<AcpOutcome<readonly AcpRun[]>> {
    const path = `/threads/${encodeURIComponent(threadId)}/runs`;
    const answer = await this.#list(path, signal);
    return toOutcome(answer, (body) => {
      if (!Array.isArray(body)) return undefined;
      return body.slice(0, MAX_RUNS_LISTED).flatMap((one) => readRun(one) ?? []);
    });
  }

  /** Lists the agent's runs with a status, skipping invalid entries. */
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

  /** Creates a run and streams it from the beginning. */
  streamNewRun(
    creation: RunCreation,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<AcpResponse | AcpFailure> {
    const body = creationBody(creation);
    return this.#stream({ method: "POST", path: "/runs/stream", body, timeoutMs, signal });
  }

  /** Streams a run from now on. */
  streamRun(
    runId: string,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<AcpResponse | AcpFailure> {
    const path = `/runs/${encodeURIComponent(runId)}/stream`;
    return this.#stream({ method: "GET", path, timeoutMs, signal });
  }

  /** Cancels a run with the protocol's default options. */
  async cancelRun(address: RunAddress, signal: AbortSignal): Promise<AcpOutcome<undefined>> {
    const answer = await this.#ofRun(address, "/cancel", (path) =>
      this.#post(path, undefined, signal),
    );
    return answer.kind === "failed" ? answer : { kind: "ok", value: undefined };
  }

  /** The server's own OpenAPI document, if it has one. */
  description(signal: AbortSignal): Promise<AcpAnswer> {
    return this.#get("/openapi.json", signal);
  }

  /** Posts to a path of a run, to distinguish an unknown run from an unknown path. */
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

  /** Tries the path without the thread first; some servers only know the other. */
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

  /** Posts a body, or none if undefined. */
  #post(path: string, body: unknown, signal: AbortSignal): Promise<AcpAnswer> {
    const call = { method: "POST", path, timeoutMs: CALL_TIMEOUT_MS, signal } as const;
    return callAcp(this.#short, body === undefined ? call : { ...call, body });
  }

  /** Requests a list; parameters are dropped for good once the server rejects them. */
  async #list(path: string, signal: AbortSignal): Promise<AcpAnswer> {
    if (!this.#takesNoLimit) {
      const answer = await this.#get(`${path}?limit=${LONG_LIST}`, signal);
      if (answer.kind !== "failed" || !isRefused(answer)) return answer;
    }
    const answer = await this.#get(path, signal);
    // Only a success without parameters shows that they were the fault.
    if (answer.kind === "answered") this.#takesNoLimit = true;
    return answer;
  }

  /** Opens a stream; any other answer is a failure. */
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
