/** One turn of an agent, with everything around it in memory. */

import { formatProblem } from "../../src/base/problem.ts";
import type { EndpointDefinition } from "../../src/endpoint/endpoint.ts";
import type { AgentDocument } from "../../src/identity/agent-document.ts";
import { readAgentFile } from "../../src/identity/agent-file.ts";
import type { AgentEvent, AgentOutcome } from "../../src/modules/openwop/agent-executor.ts";
import { createAgentRegistry } from "../../src/modules/openwop/installed-agent.ts";
import { loadPacks } from "../../src/modules/openwop/packs/load-packs.ts";
import { Capabilities } from "../../src/modules/openwop/packs/peer-capabilities.ts";
import type { Authority } from "../../src/modules/openwop/run-authority.ts";
import type { AgentRuntime } from "../../src/modules/openwop/runtime/agent-runtime.ts";
import { createExecutor } from "../../src/modules/openwop/turn/executor.ts";
import type { ReasoningRules } from "../../src/modules/openwop/turn/reasoning.ts";
import type { HostedAnswer, HostedCall } from "../../src/modules/openwop/turn/tool-calls.ts";
import type { JsonSchema } from "../../src/schema/json-schema.ts";
import { makeDirectory } from "./directory.ts";
import { makeEndpoint } from "./endpoint-definition.ts";
import { type AgentFields, packFiles, redactorOf } from "./openwop.ts";

/** What a test says of a turn; the rest is quiet. */
export interface TurnOptions {
  readonly agents?: readonly AgentFields[];
  readonly agentId?: string;
  readonly task?: unknown;
  readonly taskSchema?: JsonSchema;
  readonly returnSchema?: JsonSchema;
  readonly configurable?: Readonly<Record<string, unknown>>;
  readonly runtime: AgentRuntime["takeTurn"];
  readonly secrets?: Readonly<Record<string, string>>;
  readonly reasoning?: Partial<ReasoningRules>;
  readonly host?: (call: HostedCall) => HostedAnswer;
  /** Granted to the agent; `booking:room` unless given. */
  readonly grants?: readonly string[];
  /** Held by whoever started the run. */
  readonly scopes?: readonly string[];
  /** The scopes that are left at a moment, where they are fewer. */
  ofOwner?(): Authority | undefined;
  readonly maxToolCalls?: number;
  takeRate?(principal: string, toolName: string): number | undefined;
  readonly turnTimeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly lapse?: string;
  /** The event that cannot be kept. */
  readonly failEmit?: AgentEvent["type"];
}

/** An event, as it was kept. */
export type KeptEvent = AgentEvent & { readonly eventId: string };

interface Oddity {
  readonly agentId: string;
  readonly stated: string;
}

/** What came of the turn. */
export interface TakenTurn {
  readonly outcome: AgentOutcome;
  readonly events: readonly KeptEvent[];
  readonly types: readonly string[];
  readonly calls: readonly HostedCall[];
  /** Confidences that are none, as the operator hears of them. */
  readonly oddities: readonly Oddity[];
  /** Of the first event of a type. */
  payload(type: AgentEvent["type"]): Readonly<Record<string, unknown>>;
}

/** Takes it. */
export async function takeTurn(options: TurnOptions): Promise<TakenTurn> {
  const { scopes = [], configurable = {}, task = "a task" } = options;
  const { signal = new AbortController().signal } = options;
  const registry = createAgentRegistry(installedPacks(options));
  const events: KeptEvent[] = [];
  const calls: HostedCall[] = [];
  const oddities: Oddity[] = [];
  const executor = createExecutor({
    registry,
    runtime: { takeTurn: options.runtime, close: () => Promise.resolve() },
    redactor: redactorOf(options.secrets),
    reasoning: { verbosity: "summary", tokenLimit: 512, streaming: false, ...options.reasoning },
    host: {
      findEndpoint,
      call: (call) => {
        calls.push(call);
        return Promise.resolve(options.host?.(call) ?? { status: 200, body: {} });
      },
    },
    turnTimeoutMs: options.turnTimeoutMs ?? 10_000,
    maxToolCalls: options.maxToolCalls ?? 16,
    takeRate: options.takeRate ?? (() => undefined),
    onOddConfidence: (agentId, stated) => oddities.push({ agentId, stated }),
    authority: {
      ofOwner: ({ scopes: held }) => options.ofOwner?.() ?? held,
      ofHosted: () => options.grants ?? ["booking:room"],
    },
    documentOf: ({ agentId }) => documentOf(agentId, options.grants ?? ["booking:room"]),
    findInactive: () => options.lapse,
  });
  const outcome = await executor.takeTurn({
    agentId: options.agentId ?? "vendor.test.pack.agent",
    ...{ task, configurable, signal, runId: "run-1", nodeId: "agent" },
    owner: { tenant: "default", principal: "agtp:caller", scopes },
    emit: (event) => {
      if (event.type === options.failEmit) return Promise.reject(new Error("cannot be kept"));
      const eventId = `event-${events.length}`;
      events.push({ ...event, eventId });
      return Promise.resolve(eventId);
    },
  });
  return {
    ...{ outcome, events, calls, oddities, types: events.map(({ type }) => type) },
    payload: (type) => events.find((event) => event.type === type)?.payload ?? {},
  };
}

function installedPacks({ agents = [{}], taskSchema, returnSchema }: TurnOptions) {
  const handoff = {
    ...(taskSchema === undefined ? {} : { taskSchemaRef: "task.json" }),
    ...(returnSchema === undefined ? {} : { returnSchemaRef: "return.json" }),
  };
  const written = agents.map((agent) => ({ handoff, ...agent }));
  const directory = makeDirectory(
    packFiles(
      { agents: written },
      {
        "task.json": JSON.stringify(taskSchema ?? {}),
        "return.json": JSON.stringify(returnSchema ?? {}),
      },
    ),
  );
  const { packs, problems } = loadPacks(
    { directory, packsDir: `${directory}/agents/openwop`, installScope: "host" },
    {
      capabilities: new Capabilities([]),
      signatures: { trustedKeys: new Map(), isRequired: false },
      modelFault: () => undefined,
    },
  );
  if (problems.length > 0) throw new Error(problems.map(formatProblem).join("\n"));
  return packs;
}

const HANDLER = { type: "registered_function", function: "handlers.x" } as const;
const ENDPOINTS: readonly EndpointDefinition[] = [
  makeEndpoint(HANDLER, { requiredScopes: ["booking:room"] }),
  makeEndpoint(HANDLER, { method: "QUERY", path: "/rooms/{room_id}" }),
];

function findEndpoint(method: string, path: string): EndpointDefinition | undefined {
  return ENDPOINTS.find((one) => one.method === method && one.path === path);
}

function documentOf(name: string, scopes: readonly string[]): AgentDocument | undefined {
  const document = {
    ...{ agtp_version: "1.0", agent_id: "a".repeat(64), name, description: "An agent." },
    ...{ principal: "Test", principal_id: "test", issuer: "agtp://test", status: "active" },
    ...{ issued_at: "2026-01-01T00:00:00Z", scopes_accepted: scopes },
  };
  return readAgentFile(JSON.stringify(document), "agent.json").document;
}
