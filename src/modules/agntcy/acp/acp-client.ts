/**
 * The calls of the Agent Connect Protocol that this server makes, as its servers answer them in
 * truth: the agent is always named, a configuration always sent, a stream's mode never asked for, and
 * a run always created before anything is awaited, so that its id is known whatever comes.
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import {
  type AcpAgent,
  type AcpRun,
  type AcpRunStatus,
  type AcpThread,
  readAgent,
  readRun,
  readThread,
  readVerdict,
  type Verdict,
} from "./acp-answers.ts";
import {
  type AcpAnswer,
  type AcpConnection,
  type AcpFailure,
  type AcpRequest,
  type AcpResponse,
  callAcp,
  discard,
  isFailure,
  malformed,
  openAcp,
} from "./acp-call.ts";
import { type AcpOutcome, toOutcome } from "./acp-outcome.ts";
import { type CredentialShield, shieldCredentials } from "./credential-shield.ts";

/** What a run is started with. */
export interface RunCreation {
  readonly agentId: string;
  readonly input: unknown;
  readonly config: unknown;
  readonly metadata: JsonRecord;
  /** Undefined: a run without a thread. */
  readonly threadId: string | undefined;
}

/** A run with its server. */
export interface RunAddress {
  readonly runId: string;
  readonly threadId?: string | undefined;
}

/** How long calls that do not wait for an agent may take. */
const CALL_TIMEOUT_MS = 10_000;
const MAX_RUNS_LISTED = 1000;
/** What is asked for at once: left to itself a server lists ten. */
const LONG_LIST = 100;

/** The two ways to one server: what waits must not keep what is answered at once from its turn. */
export interface AcpConnections {
  readonly short: AcpConnection;
  readonly long: AcpConnection;
}

/** Speaks to one server. */
export class AcpClient {
  readonly #short: AcpConnection;
  readonly #long: AcpConnection;
  /** For what is read of a stream; answers have been through it. */
  readonly shield: CredentialShield;
  /** Whether its server streams runs as it creates them, and finds them; undefined: not known yet. */
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

  /** A stream as it begins; anything but one is a failure. */
  async #stream(call: AcpRequest): Promise<AcpResponse | AcpFailure> {
    const response = await openAcp(this.#long, call);
    if (isFailure(response)) return response;
    const isStream = /^text\/event-stream\b/i.test(String(response.headers["content-type"] ?? ""));
    if (response.statusCode === 200 && isStream) return response;
    discard(response);
    return malformed("is no event stream", response.statusCode);
  }

  /** Calls a run off; what the protocol lets be chosen is left at what it is by itself. */
  async cancelRun(address: RunAddress, signal: AbortSignal): Promise<AcpOutcome<undefined>> {
    const answer = await this.#ofRun(address, "/cancel", (path) =>
      this.#call({ method: "POST", path, ...this.#soon(signal) }),
    );
    return answer.kind === "failed" ? answer : { kind: "ok", value: undefined };
  }

  /** What the server says of its own calls, where it says anything: an OpenAPI document. */
  description(signal: AbortSignal): ReturnType<typeof callAcp> {
    return this.#get("/openapi.json", signal);
  }

  /** What POST answers on a path of a run; for telling an unknown run from an unknown path. */
  probe(runId: string, action: string, signal: AbortSignal): ReturnType<typeof callAcp> {
    const path = `/runs/${encodeURIComponent(runId)}/${action}`;
    return this.#call({ method: "POST", path, ...this.#soon(signal) });
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

  /** A list as long as may be had: a server that takes no parameters is asked without from then on. */
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

  #get(path: string, signal: AbortSignal): ReturnType<typeof callAcp> {
    return this.#call({ method: "GET", path, ...this.#soon(signal) });
  }

  #post(path: string, body: unknown, signal: AbortSignal): ReturnType<typeof callAcp> {
    return this.#call({ method: "POST", path, body, ...this.#soon(signal) });
  }

  #call(call: AcpRequest): ReturnType<typeof callAcp> {
    return callAcp(this.#short, call);
  }

  #soon(signal: AbortSignal): Pick<AcpRequest, "timeoutMs" | "signal"> {
    return { timeoutMs: CALL_TIMEOUT_MS, signal };
  }

  async #run(answer: ReturnType<typeof callAcp>): Promise<AcpOutcome<AcpRun>> {
    return toOutcome(await answer, readRun);
  }
}

/** The agent's configuration goes where the protocol has it, and what it has is there even if empty. */
function creationBody({ agentId, input, config, metadata, threadId }: RunCreation): JsonRecord {
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

function isUnknown(answer: AcpAnswer): boolean {
  return answer.kind === "failed" && answer.status === 404;
}

/** The server does not like how it was asked. */
function isRefused({ status }: AcpFailure): boolean {
  return status === 400 || status === 422;
}
