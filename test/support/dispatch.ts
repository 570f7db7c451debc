/**
 * A whole deployment without a socket: bytes through the request parser, the pipeline and the
 * serializer, and back through the response parser, so that what a test sees is what a peer sees.
 */

import { afterAll, beforeAll, onTestFinished } from "vitest";
import { loadConfig } from "../../src/app/config/load.ts";
import {
  type Deployment,
  type DeploymentOptions,
  loadDeployment,
} from "../../src/app/deployment.ts";
import type { AnyModule } from "../../src/app/provision.ts";
import { atOnce } from "../../src/base/paced.ts";
import { formatProblem, type Problem } from "../../src/base/problem.ts";
import type { Peer } from "../../src/dispatch/caller/peer.ts";
import { Exchange } from "../../src/dispatch/exchange.ts";
import type { Fault, Observer } from "../../src/dispatch/observer.ts";
import { createProcessState, type ProcessState } from "../../src/dispatch/process-state.ts";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import type { Ledger } from "../../src/state/records/ledger.ts";
import { openState, type ServerState } from "../../src/state/state.ts";
import type { HeaderFields } from "../../src/wire/fields.ts";
import { type Request, serializeRequest, type WireFault } from "../../src/wire/message.ts";
import { isWireFault } from "../../src/wire/message-parser.ts";
import { RequestParser } from "../../src/wire/request-parser.ts";
import { ResponseParser } from "../../src/wire/response-parser.ts";
import { createDeployment, type DeploymentFiles, type TestDeployment } from "./deployment.ts";
import { sentBytes } from "./responses.ts";

/** A request in the words of a test; an object body is sent as JSON. */
export interface TestRequest {
  readonly method: string;
  readonly path?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface TestReply {
  readonly status: number;
  readonly headers: HeaderFields;
  readonly body: TestBody;
  readonly text: string;
}

/** Bodies are JSON; a test looks at the members it knows. */
export interface TestBody {
  readonly [member: string]: TestBody;
}

export interface TestServer {
  readonly directory: string;
  readonly deployment: Deployment;
  readonly state: ServerState;
  /** What is kept through every reload. */
  readonly kept: ProcessState;
  readonly problems: readonly Problem[];
  /** What was reported to the log as faults. */
  readonly faults: readonly Fault[];
  /** Warnings that handlers logged. */
  readonly warnings: readonly object[];
  /** Over a connection of the peer, where a test names one. */
  send(request: TestRequest | string, peer?: Partial<Peer>): Promise<TestReply>;
  /** Every byte that a connection would answer with; nothing is answered after a fault. */
  exchange(chunks: readonly Buffer[], isEnded?: boolean): Promise<readonly TestReply[]>;
  close(): Promise<void>;
}

export interface TestServerOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** False: problems do not fail the test. */
  readonly isClean?: boolean;
  /** Another state than one in memory. */
  readonly state?: ServerState;
  /** The process of an earlier deployment, whose place this one takes. */
  readonly kept?: ProcessState;
  /** Others than all of them. */
  readonly modules?: readonly AnyModule[];
}

/** Opens a deployment for the running test. */
export async function openServer(
  files: DeploymentFiles = {},
  options: TestServerOptions = {},
): Promise<TestServer> {
  const deployment = createDeployment(files);
  onTestFinished(() => deployment.remove());
  const server = await createServer(deployment, options);
  onTestFinished(() => server.close());
  return server;
}

/** Opens a deployment for all tests of the suite that is being described. */
export function shareServer(files: DeploymentFiles): () => TestServer {
  let server: TestServer | undefined;
  const deployment = createDeployment(files);
  beforeAll(async () => {
    server = await createServer(deployment);
  });
  afterAll(async () => {
    await server?.close();
    deployment.remove();
  });
  return () => {
    if (server === undefined) throw new Error("the server is not open yet");
    return server;
  };
}

/** Opens a deployment that the caller closes. */
export async function createServer(
  { configPath, directory }: TestDeployment,
  { env = {}, isClean = true, state: given, kept: before, modules }: TestServerOptions = {},
): Promise<TestServer> {
  const faults: Fault[] = [];
  const warnings: object[] = [];
  const { config, problems } = loadConfig(configPath, env);
  if (config === undefined) throw new Error(problems.map(formatProblem).join("\n"));
  const observer = recordingObserver(faults, warnings);
  const outside = await outsideOf(observer, given, before);
  const loaded = await loadDeployment(config, {
    ...{ ...outside, env },
    ...(modules === undefined ? {} : { modules }),
  });
  const all = [...problems, ...loaded.problems];
  if (loaded.deployment === undefined || (isClean && all.length > 0)) {
    throw new Error(`the deployment has problems:\n${all.map(formatProblem).join("\n")}`);
  }
  const { deployment } = loaded;
  deployment.commit();
  await deployment.warmUp();
  const { kept } = outside;
  const { state } = kept;
  const { ledger } = state;
  return {
    directory,
    deployment,
    state,
    kept,
    problems: all,
    faults,
    warnings,
    exchange: (chunks, isEnded = false) =>
      answerAll({ deployment, ledger, peer: PEER }, chunks, isEnded),
    async send(request, peer = {}) {
      const path = { deployment, ledger, peer: { ...PEER, ...peer } };
      const [reply] = await answerAll(path, [encodeRequest(request)], true);
      if (reply === undefined) throw new Error("the bytes are no whole request");
      return reply;
    },
    close: async () => {
      await deployment.close();
      await state.close();
    },
  };
}

/** What a deployment takes from its process, where nothing is kept. */
export async function outsideOf(
  observer: Observer,
  given?: ServerState,
  before?: ProcessState,
): Promise<Omit<DeploymentOptions, "env">> {
  const inMemory = {
    store: createMemoryStore(),
    journalDirectory: undefined,
    onFault: (error: unknown) => {
      throw error;
    },
  };
  const kept = before ?? createProcessState(given ?? (await openState(inMemory)));
  const log = { info: ignore, warn: ignore, error: ignore };
  return { observer, kept, log, drive: atOnce };
}

/** Raw text stands for itself, in latin1; a record becomes a request as a client writes it. */
export function encodeRequest(request: TestRequest | string): Buffer {
  if (typeof request === "string") return Buffer.from(request, "latin1");
  const { method, path = "/", query, headers = {}, body } = request;
  const isRaw = body === undefined || typeof body === "string" || body instanceof Uint8Array;
  return serializeRequest({
    method,
    path,
    query,
    headers: Object.entries(headers),
    body: isRaw ? (body ?? "") : JSON.stringify(body),
  });
}

interface AnswerPath {
  readonly deployment: Deployment;
  readonly ledger: Pick<Ledger, "settled">;
  readonly peer: Peer;
}

async function answerAll(
  { deployment: { config, dispatcher }, ledger, peer }: AnswerPath,
  chunks: readonly Buffer[],
  isEnded: boolean,
): Promise<readonly TestReply[]> {
  const parser = new RequestParser(config.limits);
  const replies: TestReply[] = [];
  const answer = async (message: Request | WireFault): Promise<void> => {
    const response = isWireFault(message)
      ? dispatcher.answerFault(message, peer)
      : await dispatcher.answer(new Exchange(message, peer, performance.now()));
    await ledger.settled().catch(() => undefined);
    replies.push(decodeReply(sentBytes([response])));
  };
  for (const chunk of chunks) {
    // The parser takes the chunk over.
    parser.push(Buffer.from(chunk));
    for (let next = parser.next(); next !== undefined; next = parser.next()) await answer(next);
  }
  const cut = isEnded ? parser.end() : undefined;
  if (cut !== undefined) await answer(cut);
  return replies;
}

const PEER = { address: "127.0.0.1", port: 4480 };

/** Reads exactly one response. */
function decodeReply(bytes: Buffer): TestReply {
  const parser = new ResponseParser();
  parser.push(bytes);
  const received = parser.next();
  if (received === undefined || isWireFault(received)) {
    throw new Error(`no response: ${JSON.stringify(received)}`);
  }
  if (parser.phase !== "idle") throw new Error("more than one response");
  const text = Buffer.from(received.body).toString("utf8");
  const { status, headers } = received;
  return { status, headers, body: parseBody(text, headers), text };
}

/** A body that is no JSON has no members. */
export function parseBody(text: string, headers: HeaderFields): TestBody {
  const isJson = /json$/.test(headers.get("content-type") ?? "");
  return isJson ? (JSON.parse(text) as TestBody) : {};
}

const ignore = (): void => undefined;

/** For tests that only load. */
export const SILENT_OBSERVER: Observer = {
  start: ignore,
  end: ignore,
  hears: () => true,
  wireFault: ignore,
  fault: ignore,
  logFor: () => ({ debug: ignore, info: ignore, warn: ignore, error: ignore }),
};

function recordingObserver(faults: Fault[], warnings: object[]): Observer {
  const warn = (fields: object): void => void warnings.push(fields);
  return {
    ...SILENT_OBSERVER,
    fault: (fault) => void faults.push(fault),
    logFor: () => ({ debug: ignore, info: ignore, warn, error: ignore }),
  };
}
