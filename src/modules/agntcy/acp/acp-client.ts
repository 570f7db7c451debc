/**
 * The calls of the Agent Connect Protocol that this server makes, as its servers answer them in
 * truth: the agent is always named, a configuration always sent, a stream's mode never asked for, and
 * a run always created before anything is awaited, so that its id is known whatever comes.
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
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
import type { AcpAnswer, AcpFailure, AcpResponse } from "./acp-call.ts";
import { type AcpConnections, AcpServer } from "./acp-server.ts";
import type { CredentialShield } from "./credential-shield.ts";
import { creationBody, type RunCreation } from "./run-creation.ts";

/** A run with its server. */
export interface RunAddress {
  readonly runId: string;
  readonly threadId?: string | undefined;
}

const MAX_RUNS_LISTED = 1000;

/** The calls to one server. */
export class AcpClient {
  readonly #server: AcpServer;
  /**
   * True if its server streams runs as it creates them, and finds them; undefined: not known yet.
   */
  beginsByStreaming: boolean | undefined;

  constructor(connections: AcpConnections) {
    this.#server = new AcpServer(connections);
  }

  /** For what is read of a stream; answers have been through it. */
  get shield(): CredentialShield {
    return this.#server.shield;
  }

  /** The agents of a name and version, as the server orders them. */
  async searchAgents(
    name: string,
    version: string,
    signal: AbortSignal,
  ): Promise<AcpOutcome<readonly AcpAgent[]>> {
    const answer = await this.#server.post("/agents/search", { name, version, limit: 10 }, signal);
    return toOutcome(answer, (body) => {
      if (!Array.isArray(body)) return undefined;
      const agents = body.map(readAgent);
      return agents.every((agent) => agent !== undefined) ? agents : undefined;
    });
  }

  /** The agent's descriptor, as it is. */
  async descriptor(agentId: string, signal: AbortSignal): Promise<AcpOutcome<JsonRecord>> {
    const answer = await this.#server.get(
      `/agents/${encodeURIComponent(agentId)}/descriptor`,
      signal,
    );
    return toOutcome(answer, (body) => (isRecord(body) ? body : undefined));
  }

  createRun(creation: RunCreation, signal: AbortSignal): Promise<AcpOutcome<AcpRun>> {
    const { threadId } = creation;
    const path = threadId === undefined ? "/runs" : `/threads/${encodeURIComponent(threadId)}/runs`;
    return this.#run(this.#server.post(path, creationBody(creation), signal));
  }

  run(address: RunAddress, signal: AbortSignal): Promise<AcpOutcome<AcpRun>> {
    return this.#run(this.#ofRun(address, "", (path) => this.#server.get(path, signal)));
  }

  /** Goes on with an interrupted run. */
  resumeRun(
    address: RunAddress,
    payload: unknown,
    signal: AbortSignal,
  ): Promise<AcpOutcome<AcpRun>> {
    return this.#run(this.#ofRun(address, "", (path) => this.#server.post(path, payload, signal)));
  }

  /** Blocks until the run has come to something, or for as long as is given. */
  async waitForRun(
    address: RunAddress,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<AcpOutcome<Verdict>> {
    const answer = await this.#ofRun(address, "/wait", (path) =>
      this.#server.wait({ method: "GET", path, timeoutMs, signal }),
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
    const answer = await this.#server.wait({ method: "POST", path, body, timeoutMs, signal });
    return toOutcome(answer, (value) => ({
      run: isRecord(value) ? readRun(value["run"]) : undefined,
    }));
  }

  /** The runs of a thread; what is no run is passed over. */
  async threadRuns(threadId: string, signal: AbortSignal): Promise<AcpOutcome<readonly AcpRun[]>> {
    const path = `/threads/${encodeURIComponent(threadId)}/runs`;
    const answer = await this.#server.list(path, signal);
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
    return toOutcome(await this.#server.post("/runs/search", wanted, signal), (body) =>
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
    return this.#server.stream({ method: "POST", path: "/runs/stream", body, timeoutMs, signal });
  }

  /** The run's stream from now on. */
  streamRun(
    runId: string,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<AcpResponse | AcpFailure> {
    const path = `/runs/${encodeURIComponent(runId)}/stream`;
    return this.#server.stream({ method: "GET", path, timeoutMs, signal });
  }

  /** Calls a run off; what the protocol lets be chosen is left at what it is by itself. */
  async cancelRun(address: RunAddress, signal: AbortSignal): Promise<AcpOutcome<undefined>> {
    const answer = await this.#ofRun(address, "/cancel", (path) =>
      this.#server.post(path, undefined, signal),
    );
    return answer.kind === "failed" ? answer : { kind: "ok", value: undefined };
  }

  /** The server's description of its own calls, where it has one: an OpenAPI document. */
  description(signal: AbortSignal): Promise<AcpAnswer> {
    return this.#server.get("/openapi.json", signal);
  }

  /** The answer to POST on a path of a run; for telling an unknown run from an unknown path. */
  probe(runId: string, action: string, signal: AbortSignal): Promise<AcpAnswer> {
    const path = `/runs/${encodeURIComponent(runId)}/${action}`;
    return this.#server.post(path, undefined, signal);
  }

  async createThread(metadata: JsonRecord, signal: AbortSignal): Promise<AcpOutcome<AcpThread>> {
    return toOutcome(await this.#server.post("/threads", { metadata }, signal), readThread);
  }

  async thread(threadId: string, signal: AbortSignal): Promise<AcpOutcome<AcpThread>> {
    return toOutcome(
      await this.#server.get(`/threads/${encodeURIComponent(threadId)}`, signal),
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

  async #run(answer: Promise<AcpAnswer>): Promise<AcpOutcome<AcpRun>> {
    return toOutcome(await answer, readRun);
  }
}

function isUnknown(answer: AcpAnswer): boolean {
  return answer.kind === "failed" && answer.status === 404;
}
