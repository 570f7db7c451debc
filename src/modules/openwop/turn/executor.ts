/**
 * Takes agents' turns. An agent may take one if it is installed for the run's tenant, active, and the task fits its
 * schema; the turn then checks everything else.   OpenWOP RFC 0002, RFC 0070
 */

import { raceAbort, within } from "../../../base/deadline.ts";
import { given } from "../../../base/json-value.ts";
import type { Redactor } from "../../../base/redaction.ts";
import type { CallSurroundings } from "../../../handlers/call-upstream.ts";
import type { AgentDocument } from "../../../identity/agent-document.ts";
import { commonScopes } from "../../../identity/authority-scope.ts";
import type { CompiledSchema } from "../../../schema/schema.ts";
import {
  type AgentExecutor,
  type AgentOutcome,
  type AgentTurn,
  type Failure,
  failed,
  type Handoff,
} from "../agent-executor.ts";
import type { AgentRegistry, InstalledAgent } from "../installed-agent.ts";
import type { Authority, RunAuthority } from "../run-authority.ts";
import {
  type AgentRuntime,
  sumOfUsage,
  type TokenUsage,
  type TurnRemark,
} from "../runtime/agent-runtime.ts";
import { type ReasoningRules, ReasoningWriter } from "./reasoning.ts";
import { type ToolCallParts, ToolCalls, type TurnTaker } from "./tool-calls.ts";
import {
  type Answered,
  judgeAnswer,
  type Malformed,
  readConfidence,
  readModelOptions,
  readVerbosity,
  resolveThreshold,
  schemaFailure,
} from "./turn-rules.ts";

/** The dependencies of every turn. */
interface ExecutorOptions extends ToolCallParts {
  readonly registry: AgentRegistry;
  readonly runtime: AgentRuntime;
  readonly reasoning: ReasoningRules;
  readonly turnTimeoutMs: number;
  readonly authority: Pick<RunAuthority, "ofOwner" | "ofHosted">;
  /** Undefined if the agent has no identity here. */
  documentOf(agent: InstalledAgent): AgentDocument | undefined;
  /** The reason that an agent may not act, or undefined. */
  findInactive(document: AgentDocument): string | undefined;
  /** Reports an invalid confidence. */
  onOddConfidence(agentId: string, stated: string): void;
}

/** Creates the executor. */
export function createExecutor(options: ExecutorOptions): AgentExecutor {
  const { registry, redactor } = options;
  return {
    has: (agentId, tenant) => registry.find(agentId, tenant) !== undefined,
    takeTurn: async (turn) => {
      const agent = registry.find(turn.agentId, turn.owner.tenant);
      if (agent === undefined) return failed("agent_not_found", "there is no such agent");
      const document = options.documentOf(agent);
      const authority = (): Authority => authorityOf(options, { agent, document, turn });
      const held = authority();
      if (typeof held === "string") return failed("agent_unavailable", held);
      const isChecked = turn.validatesHandoff !== false;
      const violations = isChecked ? agent.taskSchema?.check(turn.task) : undefined;
      if (violations !== undefined) {
        return schemaFailure("handoff_task_schema_violation", violations, redactor);
      }
      const taker = { agent, document, authority, turn };
      const ends = { signals: [turn.signal], timeoutMs: options.turnTimeoutMs };
      return within(ends, (signal) => new RunningTurn(options, taker, signal).take());
    },
  };
}

/** The scopes common to the operator's grant, the agent's document and the run's owner, at this moment. */
function authorityOf(
  { authority, findInactive }: ExecutorOptions,
  { agent, document, turn }: Omit<TurnTaker, "authority">,
): Authority {
  const ofOwner = authority.ofOwner(turn.owner);
  if (typeof ofOwner === "string") return `the owner of the run may not act: ${ofOwner}`;
  const inactive = document && findInactive(document);
  if (inactive !== undefined) return inactive;
  const held = commonScopes(document?.scopes ?? [], ofOwner);
  return commonScopes(authority.ofHosted(agent.agentId), held);
}

class RunningTurn {
  readonly #around: ExecutorOptions;
  readonly #agent: InstalledAgent;
  readonly #turn: AgentTurn;
  readonly #authority: () => Authority;
  readonly #signal: AbortSignal;
  readonly #reasoning: ReasoningWriter;
  readonly #calls: ToolCalls;
  /** Identifies this turn to handlers with limited concurrency, as the one that waits for its calls. */
  readonly #surroundings: CallSurroundings = {};
  #usage: TokenUsage | undefined;
  #fault: { readonly error: unknown } | undefined;

  /** `signal` is aborted when the run is cancelled or the turn times out. */
  constructor(around: ExecutorOptions, taker: TurnTaker, signal: AbortSignal) {
    const { agent, turn, authority } = taker;
    this.#around = around;
    this.#authority = authority;
    this.#agent = agent;
    this.#turn = turn;
    this.#signal = signal;
    const emit: AgentTurn["emit"] = (event) => this.#guard(turn.emit(event));
    const verbosity = readVerbosity(turn.configurable) ?? around.reasoning.verbosity;
    const rules = { ...around.reasoning, verbosity };
    this.#reasoning = new ReasoningWriter(agent.agentId, rules, around.redactor, emit);
    this.#calls = new ToolCalls(around, taker, {
      ...{ signal, emit, surroundings: this.#surroundings },
      // Event readers expect reasoning before the first call.
      beforeFirst: ({ toolId }) => this.#reasoning.sayUnlessSpoken(`Calls ${toolId}.`),
    });
  }

  async take(): Promise<AgentOutcome> {
    const outcome = await this.#attempt();
    // The run is over and stores no further events.
    if (this.#turn.signal.aborted) return outcome;
    await this.#calls.end();
    await this.#reasoning.end();
    if (this.#fault !== undefined) throw this.#fault.error;
    return outcome.kind === "failed" ? this.#withUsage(outcome) : outcome;
  }

  /** The return schema promised by the agent that handed the task on; undefined without a handoff. */
  get #promisedSchema(): CompiledSchema | undefined {
    const { agentId, promisedBy = agentId, owner } = this.#turn;
    if (promisedBy === agentId) return undefined;
    return this.#around.registry.find(promisedBy, owner.tenant)?.returnSchema;
  }

  /** Failed turns also report their usage. */
  #withUsage({ kind, error }: Failure): Failure {
    if (this.#usage === undefined) return { kind, error };
    return { kind, error: { ...error, details: { ...error.details, usage: this.#usage } } };
  }

  async #attempt(): Promise<AgentOutcome> {
    let history: readonly TurnRemark[] = [];
    for (const isLast of [false, true]) {
      const answer = await this.#ask(history);
      if (answer.kind === "failed") return answer;
      const schemas = { own: this.#agent.returnSchema, promised: this.#promisedSchema };
      const judged = judgeAnswer(answer, schemas, this.#around.redactor);
      if (judged.kind === "answered") return this.#conclude(judged);
      if (isLast) return judged.failure;
      history = judged.remarks;
    }
    throw new Error("a turn has a last attempt");
  }

  /** Asks the runtime once; the result is redacted before further use. */
  async #ask(history: readonly TurnRemark[]): Promise<Answered | Malformed | Failure> {
    const { runtime, redactor, turnTimeoutMs } = this.#around;
    const {
      agentId,
      persona,
      modelClass,
      prompt,
      returnSchema = this.#promisedSchema,
    } = this.#agent;
    const callTool = this.#calls.begin();
    const asked = runtime.takeTurn({
      agent: { agentId, persona, modelClass },
      owner: ownerOf(this.#turn),
      ...{ prompt, task: this.#turn.task, history },
      ...{ tools: [...this.#calls.tools.values()], returnSchema },
      options: readModelOptions(this.#turn.configurable),
      reasoning: this.#reasoning,
      surroundings: this.#surroundings,
      signal: this.#signal,
      callTool: (toolId, input) => this.#guard(callTool(toolId, input)),
    });
    const answer = await raceAbort(asked, this.#signal);
    if (this.#turn.signal.aborted) return failed("run_cancelled", "the run was cancelled");
    if (answer === "aborted" || this.#signal.aborted) {
      return failed("agent_timeout", `the turn took longer than ${turnTimeoutMs} ms`);
    }
    // Events of unawaited calls must precede the decision.
    await this.#calls.end();
    const held = this.#authority();
    // No result is accepted if the authority has ended meanwhile.
    if (typeof held === "string") return failed("agent_unavailable", held);
    this.#usage = sumOfUsage(this.#usage, answer.usage);
    if (answer.kind === "malformed") return answer;
    if (answer.kind === "failed") {
      const { code, message, details } = answer.error;
      return failed(code, redactor.text(message), details);
    }
    return { ...answer, result: redactor.value(answer.result) ?? null };
  }

  async #conclude(answer: Answered): Promise<AgentOutcome> {
    const { redactor, registry } = this.#around;
    const { agentId } = this.#agent;
    const { result, handoff: wish } = answer;
    if (answer.reasoning !== undefined) await this.#reasoning.say(answer.reasoning);
    await this.#reasoning.close();
    await this.#reasoning.sayUnlessSpoken("No reasoning was given.");
    await this.#reasoning.end();
    const { tenant } = this.#turn.owner;
    if (wish !== undefined && registry.find(wish.toAgentId, tenant) === undefined) {
      return failed("agent_not_found", "the agent hands off to an agent that is not there");
    }
    const { observed, stated } = readConfidence(redactor.value(answer.confidence)) ?? {};
    const { escalationThreshold } = this.#turn.configurable;
    const threshold = resolveThreshold(escalationThreshold, this.#agent.confidenceThreshold);
    if (stated !== undefined) this.#around.onOddConfidence(agentId, stated);
    const isUnsure = observed !== undefined && observed < threshold;
    const handoff = wish && redactedHandoff(wish, redactor);
    // An unsure agent's handoff waits for approval.
    if (handoff !== undefined && !isUnsure) {
      await this.#emit("agent.handoff", { fromAgentId: agentId, ...handoff });
    }
    const usual =
      handoff === undefined
        ? { action: "complete" }
        : { action: "handoff", toAgentId: handoff.toAgentId };
    const decision = redactor.value(answer.decision) ?? usual;
    await this.#emit("agent.decided", {
      ...{ agentId, decision },
      ...given({ confidence: observed, statedConfidence: stated, usage: this.#usage }),
    });
    if (isUnsure) {
      const waits = { kind: "low-confidence", threshold, observed, decision, result } as const;
      return { ...waits, ...given({ handoff }) };
    }
    return { kind: "completed", result, ...given({ handoffTo: handoff?.toAgentId }) };
  }

  async #emit(
    type: "agent.handoff" | "agent.decided",
    payload: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    await this.#guard(this.#turn.emit({ type, payload }));
  }

  /** Remembers the first fault, even if the runtime catches it. */
  async #guard<T>(step: Promise<T>): Promise<T> {
    try {
      return await step;
    } catch (error) {
      this.#fault ??= { error };
      throw error;
    }
  }
}

function redactedHandoff({ toAgentId, reason }: Handoff, redactor: Redactor): Handoff {
  return { toAgentId, ...given({ reason: reason && redactor.text(reason) }) };
}

/** Principals of one tenant are separate owners. */
function ownerOf({ owner: { tenant, principal } }: AgentTurn): string {
  return JSON.stringify([tenant, principal]);
}
