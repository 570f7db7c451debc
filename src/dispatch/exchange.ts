/**
 * One request on its way through the pipeline, and all that is known about it. A comment that begins with the name of
 * a gate says which one fills the field in. A handler of the protocol sets what its `ExchangeView` lets it. The abort
 * signal of the call is made when somebody asks for it.
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

/** A composition's own request: the caller is known, the input is a value. */
export interface InnerOrigin {
  readonly parent: Exchange;
  readonly input: Readonly<Record<string, unknown>>;
}

/** An approval that a request is about, as its record names it. */
interface PresentedApproval {
  readonly escalationId: string;
  /** Undefined: there is none of this id, or not for this caller. */
  readonly digest: string | undefined;
  /** A handler was called under it. */
  readonly isUsed: boolean;
}

/** The use or question of an approval that has to be kept before the handler may be called. */
export interface ApprovalStep {
  readonly kind: "step";
  /** Resolves to undefined where the handler may be called now. */
  take(): Promise<Refusal | Reply | undefined>;
}

/** A record stays one header field. */
const MAX_PRIOR_ACTIONS = 64;
const NO_PRIOR_ACTIONS: readonly PriorAction[] = [];

export class Exchange {
  readonly request: Request;
  readonly peer: Peer;
  /** Set for a request that a handler dispatches. */
  readonly inner: InnerOrigin | undefined;
  /** `performance.now()` at the start. */
  readonly startedAt: number;
  /** When the observer was told of its answer; undefined: nobody had to know. */
  toldAt: number | undefined;
  /** When its synchronous work had been done; undefined: it is under way. */
  endedAt: number | undefined;
  /** That took so long that others noticed. */
  isNoticed = false;
  /** The first request of its connection. */
  isFirst = false;
  /** The request in its own protocol, where the method was translated from another one. */
  translatedFrom: string | undefined;
  /** The protocol that it came by, where that is another one; stands in its record. */
  requestedVia: string | undefined;
  /** That protocol has counted the request, on its caller's account. */
  isCounted = false;
  /** The person at whose wish the server asks in an agent's name; recorded, and gives no right. */
  askedBy: Operator | undefined;
  /** The work that waits for its answer, where the server asks in an agent's name. */
  waitedForBy: CallSurroundings | undefined;
  /** Why the protocol that it came by could not ask for it; said once it is known who asks. */
  frontRefusal: Refusal | undefined;

  /** Before the gates: whom a bearer token names, or why it proves nothing. */
  principalId: string | undefined;
  /** The scopes that it narrows the caller to; undefined: it says nothing of scopes. */
  tokenScopes: readonly string[] | undefined;
  tokenFault: string | undefined;
  /** Before the gates: what a peer vouches for, or why its token does not hold. */
  delegation: Delegation | Refusal | undefined;
  /** Caller. */
  caller: Caller = ANONYMOUS;
  /** Caller: it is the one that the request names in its Agent-ID. */
  isNamed = false;
  /** Caller: what is wrong with the scopes that it claims. */
  claimRefusal: Refusal | undefined;
  /** Lifecycle: why the caller may only call what is exempt from it. */
  inactiveRefusal: Refusal | undefined;
  /** The agent that the request is about, where it names one. */
  addressed: AgentDocument | undefined;
  /** Alias, policy: the method to answer, after alias and redirect. */
  method: string;
  /** Policy: the path to answer, after redirect. */
  path: string;
  /** Alias: parameters that a legacy mapping adds. */
  mappedParameters: Readonly<Record<string, unknown>> | undefined;
  /** Method: the AGTP-Catalog-Warning, if the method is deprecated. */
  catalogWarning: string | undefined;
  /** Contract, endpoint or negotiation. */
  route: Route | undefined;
  pathValues: Readonly<Record<string, string>> | undefined;
  /** Body: merged; input: validated. */
  input: Readonly<Record<string, unknown>> = {};
  query: ReadonlyMap<string, string> | undefined;
  /** Body: the members of the input that have stand-ins for their names, until it is accepted. */
  undeclared: UndeclaredMembers | undefined;
  /** From the headers, else from an enveloped body. */
  taskId: string | undefined;
  sessionId: string | undefined;
  /** Session: resolves once the session that the request begins is stored; false: it is somebody else's. */
  sessionKept: Promise<boolean> | undefined;

  /** The trace that the request is a part of; undefined: it is not traced. */
  traceId: string | undefined;
  /** The tracing module's own; nothing else looks at it. */
  span: unknown;
  /** The name of the gate that refused. */
  refusedBy: string | undefined;
  /** Approval: what has to be kept before the handler is called. */
  approvalStep: ApprovalStep | undefined;
  /** Approval: set where the handler's upstream may ask back. */
  upstream: CallUpstream | undefined;
  /** Something was done that may have changed something. */
  hasActed = false;
  /** The same request has another answer once an operator has decided. */
  awaitsAnswer = false;

  /** Hears of everything that its handler dispatches, once it is answered. */
  onPart: ((part: string) => void) | undefined;
  /** Hears how far the upstream of its handler is. */
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
    // They may have stood in the envelope of the parent's body.
    this.taskId = parent.taskId;
    this.sessionId = parent.sessionId;
  }

  header(name: string): string | undefined {
    return this.request.headers.get(name);
  }

  /** The contract that this action, and all that it dispatches, is done under. */
  get contract(): ContractReference | undefined {
    return this.#contract;
  }

  /** Set by the handler of a contract; what only names the call is done under it as well. */
  set contract(reference: ContractReference | undefined) {
    this.#contract = reference;
    const parent = this.#namedBy;
    if (parent !== undefined) parent.contract = reference;
  }

  /** The action that does nothing but name this one, as EXECUTE does. */
  get #namedBy(): Exchange | undefined {
    const parent = this.inner?.parent;
    return parent?.route?.leadsTo === undefined ? undefined : parent;
  }

  /** The wire asks for this very pair, by itself or by name. */
  get isAskedFor(): boolean {
    if (this.inner === undefined) return true;
    const named = this.#namedBy;
    return named !== undefined && named.inner === undefined;
  }

  /** The wire's method, when it is not the one that is answered. */
  get requestedMethod(): string | undefined {
    if (this.translatedFrom !== undefined) return this.translatedFrom;
    return this.request.method === this.method ? undefined : this.request.method;
  }

  /** The Response-ID of the answer on the wire; what is recorded before it is sent names it, too. */
  get responseId(): string {
    if (this.inner !== undefined) return this.inner.parent.responseId;
    this.#responseId ??= uuidv7();
    return this.#responseId;
  }

  /** The actions of others that this one depends on, as its record names them. */
  get priorActions(): readonly PriorAction[] {
    return this.#priorActions ?? NO_PRIOR_ACTIONS;
  }

  /** Notes what another agent did; it is the action on the wire that depends on it. */
  notePriorAction(prior: PriorAction): void {
    if (this.inner !== undefined) {
      this.inner.parent.notePriorAction(prior);
      return;
    }
    this.#priorActions ??= [];
    if (this.#priorActions.length < MAX_PRIOR_ACTIONS) this.#priorActions.push(prior);
  }

  /** The scopes that parts of the request took, beside those of its own endpoint; undefined: none. */
  get partScopes(): readonly string[] | undefined {
    return this.#partScopes && [...this.#partScopes];
  }

  /** Notes scopes that a part took: whoever is given the answer again has to hold them then. */
  notePartScopes(scopes: readonly string[]): void {
    if (this.inner !== undefined) {
      this.inner.parent.notePartScopes(scopes);
      return;
    }
    if (scopes.length === 0) return;
    this.#partScopes ??= new Set();
    for (const scope of scopes) this.#partScopes.add(scope);
  }

  /** The approval that the request on the wire waits for, brings, or was begun under. */
  get approval(): PresentedApproval | undefined {
    return this.inner === undefined ? this.#approval : this.inner.parent.approval;
  }

  /** The request on the wire has its answer: what its handler still dispatches stands in no record. */
  get isAnswered(): boolean {
    return this.inner === undefined ? this.#isAnswered : this.inner.parent.isAnswered;
  }

  markAnswered(): void {
    this.#isAnswered = true;
  }

  /** Names it in the record of the request on the wire; one that was used stays. */
  noteApproval(approval: PresentedApproval): void {
    if (this.inner !== undefined) this.inner.parent.noteApproval(approval);
    else if (this.#approval?.isUsed !== true) this.#approval = approval;
  }

  /** Notes that something may have been done, so that a later failure is not answered as if nothing was. */
  markActed(): void {
    this.hasActed = true;
    this.inner?.parent.markActed();
  }

  /** Notes that an operator is asked; what only hands its answer on waits as well. */
  markAwaiting(): void {
    this.awaitsAnswer = true;
    this.#namedBy?.markAwaiting();
  }

  /** The person whom records name beside the agent. */
  get person(): Operator | undefined {
    const { operator } = this.peer;
    if (operator !== undefined) return operator;
    return this.inner === undefined ? this.askedBy : this.inner.parent.person;
  }

  /** A text of the request as it may be written down, without the secrets of its endpoint. */
  conceal(text: string): string {
    return this.route?.concealment?.text(text) ?? text;
  }

  /** The depth of this dispatch; 0 on the wire. */
  get depth(): number {
    return this.inner === undefined ? 0 : this.inner.parent.depth + 1;
  }

  /** Shared by a call and everything it dispatches. */
  get signal(): AbortSignal {
    if (this.inner !== undefined) return this.inner.parent.signal;
    this.#abort ??= new AbortController();
    if (this.#reason !== undefined) this.#abort.abort(this.#reason);
    return this.#abort.signal;
  }

  /** True when the call was ended from outside; an exception of its handler is then no fault. */
  get isAborted(): boolean {
    return this.inner === undefined ? this.#reason !== undefined : this.inner.parent.isAborted;
  }

  /** Ends the call: its time is up, its caller left, or a drain ran out of time. */
  abort(reason: Error): void {
    this.#reason ??= reason;
    this.#abort?.abort(this.#reason);
  }
}

/** The synthesis_id of the contract that a request presents; the second name is the older one. */
export function presentedContract(exchange: Pick<Exchange, "header">): string | undefined {
  return exchange.header("contract-synthesized") ?? exchange.header("synthesis-id");
}
