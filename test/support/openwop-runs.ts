/**
 * Runs over a store, behind the HTTP API on a free port: what a test needs to drive them as a client
 * would, to kill them, and to hold their bodies against the published schemas.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { fastify } from "fastify";
import { expect, onTestFinished } from "vitest";
import type { JsonRecord } from "../../src/base/json-value.ts";
import { LoopTime } from "../../src/dispatch/rates/loop-time.ts";
import { MinuteRates } from "../../src/dispatch/rates/minute-rates.ts";
import { Rates } from "../../src/dispatch/rates/rates.ts";
import { createToll } from "../../src/dispatch/rates/toll.ts";
import type { AgentCatalog } from "../../src/modules/openwop/agent-catalog.ts";
import type { AgentExecutor } from "../../src/modules/openwop/agent-executor.ts";
import type { RunLimits, Verbosity } from "../../src/modules/openwop/config.ts";
import { ApiKeys, Audience, type AudienceLimits } from "../../src/modules/openwop/http/api-keys.ts";
import { discoveryDocument } from "../../src/modules/openwop/http/discovery.ts";
import { Idempotency } from "../../src/modules/openwop/http/idempotency.ts";
import { InterruptTokens } from "../../src/modules/openwop/http/interrupt-token.ts";
import { openwopApi } from "../../src/modules/openwop/http/openwop-api.ts";
import { EffectLedger } from "../../src/modules/openwop/nodes/conformance-nodes.ts";
import { nodeTypes } from "../../src/modules/openwop/nodes/known-nodes.ts";
import type { Redact } from "../../src/modules/openwop/runs/redact.ts";
import { RunHost } from "../../src/modules/openwop/runs/run-host.ts";
import type { InterruptWatcher } from "../../src/modules/openwop/runs/run-state.ts";
import {
  openWorkflowRuns,
  type WorkflowRuns,
} from "../../src/modules/openwop/runs/workflow-runs.ts";
import { ToolRates } from "../../src/modules/openwop/turn/tool-rates.ts";
import type { Workflow } from "../../src/modules/openwop/workflows/load-workflows.ts";
import type { WorkflowDefinition } from "../../src/modules/openwop/workflows/workflow.ts";
import { createSchemaCompiler } from "../../src/schema/schema.ts";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import type { ViewLease } from "../../src/state/state.ts";
import type { Store } from "../../src/state/store.ts";
import { FIXTURES } from "./openwop-workflows.ts";
import { makeLastingStore } from "./state.ts";
import { alterStore } from "./store.ts";

export const KEY = "hk_test_key_of_acme";
export const OTHER_KEY = "hk_test_key_of_other";
export const READER_KEY = "hk_test_key_that_reads";
export const CREATOR_KEY = "hk_test_key_that_creates";

const ALL_SCOPES = [
  ...["manifest:read", "runs:create", "runs:read", "runs:cancel", "approvals:respond"],
];

const digest = (key: string): string => createHash("sha256").update(key).digest("hex");

const KEYS = new ApiKeys([
  { sha256: digest(KEY), tenant: "acme", scopes: ALL_SCOPES, agtpScopes: ["boats:book"] },
  { sha256: digest(OTHER_KEY), tenant: "other", scopes: ALL_SCOPES, agtpScopes: [] },
  { sha256: digest(READER_KEY), tenant: "acme", scopes: ["runs:read"], agtpScopes: [] },
  { sha256: digest(CREATOR_KEY), tenant: "acme", scopes: ["runs:create"], agtpScopes: [] },
]);

export const LIMITS: RunLimits = {
  concurrent: 16,
  unfinishedPerOwner: 64,
  perOwner: 1000,
  all: 10_000,
  events: 1000,
  bytes: 4 * 1_048_576,
  depth: 4,
  children: 32,
  loopIterations: 10,
  durationSeconds: 60,
  waitingSeconds: 3600,
  retentionSeconds: 86_400,
};

const RUNTIME = {
  ...{ kind: "deterministic" as const, models: {}, retries: 2, maxToolCalls: 16 },
  ...{ timeoutSeconds: 120, requestTimeoutSeconds: 60 },
};

const NO_AGENTS: AgentCatalog = {
  inventory: () => [],
  find: () => undefined,
  reference: () => undefined,
  packs: () => [],
  exports: () => ({ manifests: [], packs: [] }),
  checkHandoff: () => undefined,
};

/** An executor that has no agents. */
export const NOBODY: AgentExecutor = {
  has: () => false,
  takeTurn: () => Promise.reject(new Error("nobody takes turns here")),
};

/** What a test chooses. */
export interface RunServerOptions {
  readonly store?: Store;
  readonly workflows?: readonly WorkflowDefinition[];
  readonly executor?: AgentExecutor;
  readonly catalog?: AgentCatalog;
  readonly isConformance?: boolean;
  readonly limits?: Partial<RunLimits>;
  readonly audience?: AudienceLimits;
  readonly redact?: Redact;
  readonly reasoning?: { readonly verbosity?: Verbosity; readonly tokenLimit?: number };
  readonly watcher?: InterruptWatcher;
  readonly bodyBytes?: number;
  readonly toolCallsPerMinute?: number;
  readonly view?: Pick<ViewLease, "catchUp">;
  /** False: runs are kept and not executed. */
  readonly isStarted?: boolean;
  now?(): number;
}

/** What came back. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: ReplyBody;
  readonly text: string;
}

/** The members that tests look at one by one; the others are held against patterns. */
interface ReplyBody extends JsonRecord {
  readonly runId: string;
  readonly status: string;
  readonly events: readonly RunEventLike[];
  readonly isComplete: boolean;
  readonly error: string;
  readonly openapi: string;
  readonly paths: JsonRecord;
  readonly fixtures: readonly string[];
  readonly agents: JsonRecord;
  readonly interrupt: JsonRecord;
}

/** How a test asks. */
export interface AskOptions {
  /** Null: without one. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface RunServer {
  readonly origin: string;
  readonly store: Store;
  readonly host: RunHost;
  readonly register: WorkflowRuns;
  readonly audience: Audience;
  readonly warnings: readonly object[];
  get(path: string, options?: AskOptions): Promise<Reply>;
  post(path: string, body?: unknown, options?: AskOptions): Promise<Reply>;
  fetch(path: string, init?: RequestInit, key?: string | null): Promise<Response>;
  /** Creates a run and answers with its id. */
  run(workflowId: string, more?: object): Promise<string>;
  /** The snapshot of a run, once it has one of these statuses. */
  until(runId: string, ...statuses: readonly string[]): Promise<ReplyBody>;
  events(runId: string): Promise<readonly RunEventLike[]>;
  close(): Promise<void>;
}

/** An event, as a client reads it. */
export interface RunEventLike {
  readonly eventId: string;
  readonly type: string;
  readonly sequence: number;
  readonly nodeId?: string;
  readonly causationId?: string;
  readonly payload: JsonRecord;
}

/** Serves runs for the running test. */
export async function openRuns(options: RunServerOptions = {}): Promise<RunServer> {
  const server = await createRuns(options);
  onTestFinished(() => server.close());
  return server;
}

/** Serves runs that the caller closes. */
export async function createRuns(options: RunServerOptions = {}): Promise<RunServer> {
  const { store = createMemoryStore(), now = Date.now, isConformance = true } = options;
  const { toolCallsPerMinute = 120 } = options;
  const { executor = NOBODY, catalog = NO_AGENTS, redact = (value) => value } = options;
  const warnings: object[] = [];
  const log = { warn: (fields: object) => void warnings.push(fields) };
  const compiler = createSchemaCompiler();
  const register = await openWorkflowRuns(store, { now });
  const limits = { ...LIMITS, ...options.limits };
  const workflows = new Map(
    (options.workflows ?? FIXTURES).map((definition): [string, Workflow] => [
      definition.id,
      { definition, configurable: undefined },
    ]),
  );
  const reasoning = { verbosity: "summary", tokenLimit: 512 } as const;
  const effects = new EffectLedger(store, now);
  const types = nodeTypes({
    ...{ executor, compiler, isConformance, effects },
    mockAgent: {
      reasoning: { ...reasoning, ...options.reasoning },
      thresholdOf: (agentId, tenant) =>
        catalog.inventory(tenant).find((one) => one.agentId === agentId)?.confidenceThreshold,
    },
  });
  const { watcher } = options;
  const host = new RunHost({
    ...{ register, workflows, types, catalog, compiler, redact, limits, isConformance },
    tellsOfAgents: isConformance || catalog.inventory("acme").length > 0,
    logger: log,
    stopping: new AbortController().signal,
  });
  if (watcher !== undefined) host.watch(watcher);
  const toolRates = new ToolRates(new MinuteRates(), now);
  toolRates.limit(toolCallsPerMinute);
  const state = {
    idempotency: await Idempotency.open(store, { now }),
    tokens: await InterruptTokens.open(store, now),
    audience: new Audience(options.audience),
    ...{ toolRates, effects },
  };
  const agentIds = new Set(catalog.inventory("acme").map(({ agentId }) => agentId));
  const settings = {
    ...{ conformance: isConformance, installScope: "host" as const, runs: limits },
    reasoning: { ...reasoning, streaming: false },
    runtime: { ...RUNTIME, toolCallsPerMinute },
  };
  const discovery = discoveryDocument({ settings, agentIds, workflows });
  const rates = new Rates();
  const parts = {
    toll: createToll(rates, new LoopTime(rates)),
    ...{ host, catalog, executor, redact, keys: KEYS, settings, discovery, state, log },
    view: options.view ?? {},
  };
  const app = fastify({ forceCloseConnections: true });
  for (const { prefix, plugin } of openwopApi(parts, options.bodyBytes ?? 1_048_576)) {
    await app.register(async (scope) => plugin(scope), { prefix });
  }
  if (options.isStarted !== false) host.start();
  const origin = await app.listen({ host: "127.0.0.1", port: 0 });
  const { audience } = state;
  return serverOf({ origin, store, host, register, audience, warnings }, async () => {
    host.close();
    await app.close();
  });
}

function serverOf(
  given: Pick<RunServer, "origin" | "store" | "host" | "register" | "audience" | "warnings">,
  close: () => Promise<void>,
): RunServer {
  const ask = async (path: string, init: RequestInit, key: string | null): Promise<Reply> => {
    const response = await server.fetch(path, init, key);
    const text = await response.text();
    const isJson = (response.headers.get("content-type") ?? "").includes("json");
    const { status, headers } = response;
    return { status, headers, text, body: isJson && text !== "" ? JSON.parse(text) : {} };
  };
  const server: RunServer = {
    ...given,
    fetch: (path, init = {}, key = KEY) => {
      const headers = new Headers(init.headers);
      if (key !== null) headers.set("authorization", `Bearer ${key}`);
      return fetch(`${given.origin}${path}`, { ...init, headers });
    },
    get: (path, { key = KEY, headers = {}, signal } = {}) =>
      ask(
        path,
        { headers: { accept: "application/json", ...headers }, ...(signal && { signal }) },
        key,
      ),
    post: (path, body, { key = KEY, headers = {} } = {}) =>
      ask(
        path,
        {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: typeof body === "string" ? body : JSON.stringify(body ?? {}),
        },
        key,
      ),
    async run(workflowId, more = {}) {
      const { status, body } = await server.post("/v1/runs", { workflowId, ...more });
      expect(status, JSON.stringify(body)).toBe(201);
      return body.runId;
    },
    async until(runId, ...statuses) {
      const read = async (path = ""): Promise<ReplyBody> => {
        const { status, text, body } = await server.get(`/v1/runs/${runId}${path}`);
        expect(status, text).toBe(200);
        return body;
      };
      let after = -1;
      for (;;) {
        const snapshot = await read();
        if (statuses.includes(snapshot.status)) return snapshot;
        const { isComplete, events } = await read(`/events/poll?lastSequence=${after}`);
        if (isComplete) return read();
        after = events.at(-1)?.sequence ?? after;
      }
    },
    events: async (runId) => (await server.get(`/v1/runs/${runId}/events`)).body.events,
    close,
  };
  return server;
}

/** A store that outlives the servers over it, as a disk outlives a killed process. */
export function lastingStore(): Store {
  return makeLastingStore();
}

/** A way to a store that can be cut off, as a killed process is cut off from its disk. */
export interface KillableStore extends Store {
  kill(): void;
  /** Lets so many more commits through. */
  killAfter(commits: number): void;
  /** Once it has refused a commit. */
  readonly died: Promise<void>;
}

/** Puts one in front of a store. */
export function killableStore(store: Store): KillableStore {
  let resolve = (): void => undefined;
  const died = new Promise<void>((done) => {
    resolve = done;
  });
  let left = Number.POSITIVE_INFINITY;
  const cutOff = alterStore(store, {
    async commit(...args) {
      left -= 1;
      if (left >= 0) return store.commit(...args);
      resolve();
      throw new Error("the process was killed");
    },
    close: () => Promise.resolve(),
  });
  return {
    ...cutOff,
    kill: () => {
      left = 0;
    },
    killAfter: (commits) => {
      left = commits;
    },
    died,
  };
}

/** What "channels-and-reducers" says of a write; closed. */
const WRITTEN = {
  $id: "https://openwop.dev/spec/v1/channel-written-payload.schema.json",
  type: "object",
  required: ["channel", "value", "reducer", "writtenAt"],
  properties: {
    channel: { type: "string", minLength: 1, maxLength: 256 },
    value: {},
    reducer: { enum: ["replace", "append", "merge", "counter", "votes", "feedback"] },
    nodeId: { type: "string", minLength: 1, maxLength: 128 },
    writtenAt: { type: "string", format: "date-time" },
  },
  additionalProperties: false,
};

let validators: Ajv2020 | undefined;

/** Holds a value against a published schema, or a definition in it. */
export function expectValid(value: unknown, schema: string, definition?: string): void {
  const id = `https://openwop.dev/spec/v1/${schema}.schema.json`;
  const validate = published().getSchema(definition ? `${id}#/$defs/${definition}` : id);
  if (validate === undefined) throw new Error(`there is no schema ${schema} ${definition ?? ""}`);
  const errors = (validate as ValidateFunction)(value) ? [] : validate.errors;
  expect(errors, JSON.stringify(value)).toEqual([]);
}

function published(): Ajv2020 {
  if (validators !== undefined) return validators;
  // The discovery document's schema names others that nothing here uses.
  const unused = ["prompt-kind"];
  const directory = join(import.meta.dirname, "../modules/openwop/schemas");
  validators = new Ajv2020({ strict: false, allErrors: true });
  formats.default(validators);
  for (const name of unused) {
    validators.addSchema({
      $id: `https://openwop.dev/spec/v1/${name}.schema.json`,
      type: "string",
    });
  }
  validators.addSchema(WRITTEN);
  for (const name of readdirSync(directory).filter((one) => one.endsWith(".schema.json"))) {
    validators.addSchema(JSON.parse(readFileSync(join(directory, name), "utf8")));
  }
  return validators;
}

/** Holds a whole log against what is said of events, and of each type of them. */
export function expectValidLog(events: readonly RunEventLike[]): void {
  for (const event of events) {
    expectValid(event, "run-event");
    const name = event.type.replace(/[.-](\w)/g, (_, letter: string) => letter.toUpperCase());
    expectValid(event.payload, "run-event-payloads", name);
  }
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
  expect(events.filter(({ nodeId }) => nodeId === null)).toEqual([]);
  const ends = events.filter(({ type }) => /^run\.(?:completed|failed|cancelled)$/.test(type));
  expect(ends.length).toBeLessThanOrEqual(1);
  if (ends.length === 1) expect(events.at(-1)).toBe(ends[0]);
}
