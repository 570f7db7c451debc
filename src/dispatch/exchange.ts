/**
 * One request on its way through the pipeline, with everything known about it. A field's comment
 * that starts with a gate's name says which gate sets the field. Protocol handlers set only the
 * members of `ExchangeView`. The abort signal of the call is created on first use.
 */
import type { UndeclaredMembers } from "../endpoint/undeclared-members.ts";
import type { CallSurroundings, CallUpstream } from "../handlers/call-upstream.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import { uuidv7 } from "../identity/uuid.ts";
import type { Operator } from "../state/registers/operator.ts";
import type { Request } from "../wire/message.ts";
import { ANONYMOUS, type Caller } from "./caller/caller.ts";
import type { Delegation, PriorAction } from "./caller/delegation.ts";
import type { Peer } from "./caller/peer.ts";
import type { Refusal } from "./refusals/refusal.ts";
import type { Reply } from "./reply.ts";
import type { ContractReference, Route } from "./routes/route.ts";

/** The origin of an inner request, as a composition makes it: its caller is known, and its input is a value. */
export interface InnerOrigin {
  readonly parent: Exchange;
  readonly input: Readonly<Record<string, unknown>>;
}

/** The approval of a request, as its record names it. */
interface PresentedApproval {
  readonly escalationId: string;
  /** The digest of the approved call; undefined if no such approval exists for this caller. */
  readonly digest: string | undefined;
  /** True if a handler was called under it. */
  readonly isUsed: boolean;
}

/** The use of an approval, or the question for one, which must be stored before the handler is called. */
export interface ApprovalStep {
  readonly kind: "step";
  /** Stores it; resolves to undefined if the handler may be called now. */
  take(): Promise<Refusal | Reply | undefined>;
}

/** The bound of prior actions, so that a record fits into one header field. */
const MAX_PRIOR_ACTIONS = 64;
const NO_PRIOR_ACTIONS: readonly PriorAction[] = [];

export class Exchange {
  readonly request: Request;
  readonly peer: Peer;
  /** The origin of a request that a handler dispatches. */
  readonly inner: InnerOrigin | undefined;
  /** The start of the request, by `performance.now()`. */
  readonly startedAt: number;
  /** The time at which the observer was told of the answer; undefined if no observer needs it. */
  toldAt: number | undefined;
  /** The end of its synchronous work; undefined while that runs. */
  endedAt: number | undefined;
  /** True if that work ran long enough to delay other requests. */
  isNoticed = false;
  /** True for the first request of its connection. */
  isFirst = false;
  /** The request in its own protocol, if its method was translated from another protocol. */
  translatedFrom: string | undefined;
  /** The protocol that it arrived by, if that is another one; part of its record. */
  requestedVia: string | undefined;
  /** True if that protocol has already counted the request against its caller's rate. */
  isCounted = false;
  /** The person who had the server ask in an agent's name; recorded, but without rights. */
  askedBy: Operator | undefined;
  /** The work that waits for its answer, if the server asks in an agent's name. */
  waitedForBy: CallSurroundings | undefined;
  /** The reason why its own protocol could not translate it; answered once the caller is known. */
  frontRefusal: Refusal | undefined;

  /** Before the gates: the principal that a bearer token names. */
  principalId: string | undefined;
  /** The scopes that the token narrows the caller to; undefined if it names none. */
  tokenScopes: readonly string[] | undefined;
  tokenFault: string | undefined;
  /** Before the gates: the delegation that a peer vouches for, or the refusal of its token. */
  delegation: Delegation | Refusal | undefined;
  /** Caller. */
  caller: Caller = ANONYMOUS;
  /** Caller: true if the caller is the agent of the request's Agent-ID. */
  isNamed = false;
  /** Caller: the refusal of the scopes that it claims. */
  claimRefusal: Refusal | undefined;
  /** Lifecycle: the refusal of everything that is not exempt from the lifecycle. */
  inactiveRefusal: Refusal | undefined;
  /** The agent that the request is about, if it names one. */
  addressed: AgentDocument | undefined;
  /** Alias, policy: the method to answer, after aliases and redirects. */
  method: string;
  /** Policy: the path to answer, after redirects. */
  path: string;
  /** Alias: parameters that a legacy mapping adds. */
  mappedParameters: Readonly<Record<string, unknown>> | undefined;
  /** Method: the AGTP-Catalog-Warning of a deprecated method. */
  catalogWarning: string | undefined;
  /** Contract, endpoint, negotiation: the route that answers. */
  route: Route | undefined;
  pathValues: Readonly<Record<string, string>> | undefined;
  /** Body: the merged input; input: the validated one. */
  input: Readonly<Record<string, unknown>> = {};
  query: ReadonlyMap<string, string> | undefined;
  /** Body: the undeclared members, whose names are replaced in the input until it is accepted. */
  undeclared: UndeclaredMembers | undefined;
  /** The Task-ID of the header, or of the body's envelope. */
  taskId: string | undefined;
  sessionId: string | undefined;
  /** Session: resolves once the session that the request starts is stored; to false if another owns it. */
  sessionKept: Promise<boolean> | undefined;

  /** The trace that the request belongs to; undefined if it is not traced. */
  traceId: string | undefined;
  /** The span, owned by the tracing module. */
  span: unknown;
  /** The name of the gate that refused the request. */
  refusedBy: string | undefined;
  /** Approval: the step to take before the handler is called. */
  approvalStep: ApprovalStep | undefined;
  /** Approval: set if the handler's upstream may ask a question. */
  upstream: CallUpstream | undefined;
  /** True if the request may have changed something. */
  hasActed = false;
  /** True if the same request gets another answer once an operator has decided. */
  awaitsAnswer = false;

  /** Called for each request that its handler dispatched, once that is answered. */
  onPart: ((part: string) => void) | undefined;
  /** Called with the progress of its handler's upstream. */
  onProgress: CallUpstream["onProgress"];

  #isAnswered = false;
  #approval: PresentedApproval | undefined;
  #contract: ContractReference | undefined;
  #priorActions: PriorAction[] | undefined;
  #partScopes: Set<string> | undefined;
  #responseId: string | undefined;
  #abort: AbortController | undefined;
  #reason: Error | undefined;

  constructor(request: Request, peer: Peer, startedAt: number, inner?: InnerOrigin) {
    this.request = request;
    this.peer = peer;
    this.startedAt = startedAt;
    this.inner = inner;
    this.method = request.method;
    this.path = request.path;
    this.taskId = request.headers.get("task-id");
    this.sessionId = request.headers.get("session-id");
    if (inner === undefined) return;
    const { parent } = inner;
    this.caller = parent.caller;
    this.#contract = parent.contract;
    this.inactiveRefusal = parent.inactiveRefusal;
    // The ids may come from the envelope of the parent's body.
    this.taskId = parent.taskId;
    this.sessionId = parent.sessionId;
  }

  header(name: string): string | undefined {
    return this.request.headers.get(name);
  }

  /** The contract that this request and its inner dispatches run under. */
  get contract(): ContractReference | undefined {
    return this.#contract;
  }

  /** Sets the contract, also on a parent that only names this request. */
  set contract(reference: ContractReference | undefined) {
    this.#contract = reference;
    const parent = this.#namedBy;
    if (parent !== undefined) parent.contract = reference;
  }

  /** The parent, if it only names this request, as EXECUTE does. */
  get #namedBy(): Exchange | undefined {
    const parent = this.inner?.parent;
    return parent?.route?.leadsTo === undefined ? undefined : parent;
  }

  /** True if the client asked for this pair, directly or by naming it. */
  get isAskedFor(): boolean {
    if (this.inner === undefined) return true;
    const named = this.#namedBy;
    return named !== undefined && named.inner === undefined;
  }

  /** The method on the wire, if it is not the answered one. */
  get requestedMethod(): string | undefined {
    if (this.translatedFrom !== undefined) return this.translatedFrom;
    return this.request.method === this.method ? undefined : this.request.method;
  }

  /** The Response-ID of the answer on the wire; records written before it is sent also name it. */
  get responseId(): string {
    if (this.inner !== undefined) return this.inner.parent.responseId;
    this.#responseId ??= uuidv7();
    return this.#responseId;
  }

  /** The actions of other agents that this one depends on, as its record names them. */
  get priorActions(): readonly PriorAction[] {
    return this.#priorActions ?? NO_PRIOR_ACTIONS;
  }

  /** Adds another agent's action to those that the request on the wire depends on. */
  notePriorAction(prior: PriorAction): void {
    if (this.inner !== undefined) {
      this.inner.parent.notePriorAction(prior);
      return;
    }
    this.#priorActions ??= [];
    if (this.#priorActions.length < MAX_PRIOR_ACTIONS) this.#priorActions.push(prior);
  }

  /** The scopes that inner dispatches required, besides the endpoint's own; undefined if none. */
  get partScopes(): readonly string[] | undefined {
    return this.#partScopes && [...this.#partScopes];
  }

  /** Notes scopes that an inner dispatch required; a replay of the answer requires them as well. */
  notePartScopes(scopes: readonly string[]): void {
    if (this.inner !== undefined) {
      this.inner.parent.notePartScopes(scopes);
      return;
    }
    if (scopes.length === 0) return;
    this.#partScopes ??= new Set();
    for (const scope of scopes) this.#partScopes.add(scope);
  }

  /** The approval that the request on the wire waits for, presents, or was started under. */
  get approval(): PresentedApproval | undefined {
    return this.inner === undefined ? this.#approval : this.inner.parent.approval;
  }

  /** True once the request on the wire is answered; no record names later dispatches. */
  get isAnswered(): boolean {
    return this.inner === undefined ? this.#isAnswered : this.inner.parent.isAnswered;
  }

  markAnswered(): void {
    this.#isAnswered = true;
  }

  /** Names an approval in the record of the request on the wire; a used one is kept. */
  noteApproval(approval: PresentedApproval): void {
    if (this.inner !== undefined) this.inner.parent.noteApproval(approval);
    else if (this.#approval?.isUsed !== true) this.#approval = approval;
  }

  /** Notes a possible change, so that a later failure does not claim that nothing was done. */
  markActed(): void {
    this.hasActed = true;
    this.inner?.parent.markActed();
  }

  /** Notes that an operator was asked, also on a parent that only names this request. */
  markAwaiting(): void {
    this.awaitsAnswer = true;
    this.#namedBy?.markAwaiting();
  }

  /** The person that records name besides the agent. */
  get person(): Operator | undefined {
    const { operator } = this.peer;
    if (operator !== undefined) return operator;
    return this.inner === undefined ? this.askedBy : this.inner.parent.person;
  }

  /** Removes the endpoint's secrets from a text of the request. */
  conceal(text: string): string {
    return this.route?.concealment?.text(text) ?? text;
  }

  /** The depth of this dispatch; 0 on the wire. */
  get depth(): number {
    return this.inner === undefined ? 0 : this.inner.parent.depth + 1;
  }

  /** The abort signal, shared by a call and everything it dispatches. */
  get signal(): AbortSignal {
    if (this.inner !== undefined) return this.inner.parent.signal;
    this.#abort ??= new AbortController();
    if (this.#reason !== undefined) this.#abort.abort(this.#reason);
    return this.#abort.signal;
  }

  /** True if the call was aborted from outside, so that its handler's exception is no fault. */
  get isAborted(): boolean {
    return this.inner === undefined ? this.#reason !== undefined : this.inner.parent.isAborted;
  }

  /** Aborts the call: its time is up, its caller left, or the drain timed out. */
  abort(reason: Error): void {
    this.#reason ??= reason;
    this.#abort?.abort(this.#reason);
  }
}

/** Returns the synthesis_id of the contract that a request presents; the second field name is the older one. */
export function presentedContract(exchange: Pick<Exchange, "header">): string | undefined {
  return exchange.header("contract-synthesized") ?? exchange.header("synthesis-id");
}
