/**
 * Takes one request through the gates, its handler and the stamp, without any socket: a request goes
 * in, a response comes out. Synchronous work is measured as a slice of the loop, charged to its payer.
 *
 *   answer    reads credentials, and waits briefly if the view is outdated: the only waits before the gates
 *     #answerMeasured   measures the time, and holds the answer until a new session is stored
 *       #admit   runs the arrival gates: identity and toll, gates 00 to 05
 *         #serve  runs the request gates, 06 to 17; inner dispatches (#dispatch) start here, behind their own gates
 *           #performInSession   waits until the request's new session is stored
 *           #perform   reads the Idempotency-Key
 *             #answerOnce   calls the handler once for its key
 *             #callHandler  runs gate 18, then calls the handler
 *       #finish   stamps the reply and notifies the observer
 */

import type { DispatchResult } from "../handlers/handler.ts";
import type { AgentDirectory } from "../identity/agent-directory.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import type { TokenVerifier } from "../identity/bearer-syntax.ts";
import type { Attributor } from "../state/records/ledger.ts";
import type { IdempotencyRegister } from "../state/registers/idempotency-register.ts";
import type { ViewLease } from "../state/state.ts";
import type { Response, WireFault } from "../wire/message.ts";
import type { Approvals } from "./approvals/approvals.ts";
import type { DelegationReader } from "./caller/delegation.ts";
import type { Peer } from "./caller/peer.ts";
import { refuseLostSession } from "./caller/refuse-session.ts";
import { concealRefusal } from "./concealment.ts";
import type { Exchange } from "./exchange.ts";
import { readCredentials } from "./gates/00-caller.ts";
import { createLeaseWait, type LeaseWait } from "./gates/05-ledger.ts";
import type { Gate } from "./gates/gate.ts";
import type { Deadlines } from "./handling/deadlines.ts";
import {
  innerExchange,
  mayHaveActed,
  resultOf,
  tellingOfInner,
} from "./handling/inner-dispatch.ts";
import {
  type CallHandler,
  createCallHandler,
  faultReply,
  type InvokeServices,
} from "./handling/invoke.ts";
import {
  type AnswerOnce,
  createAnswerOnce,
  readIdempotencyKey,
} from "./idempotency/idempotency.ts";
import type { Observer } from "./observer.ts";
import type { LoopTime } from "./rates/loop-time.ts";
import { payerOf } from "./rates/rates.ts";
import { badRequest } from "./refusals/refusal.ts";
import { type Reply, replyToRefusal } from "./reply.ts";
import type { Route } from "./routes/route.ts";
import { createStamp, type Stamp } from "./stamp.ts";

/** The gates of each stage, each row as one gate. */
interface PipelineGates {
  /** Identifies the caller; its refusal is answered after `toll`, which every request passes. */
  readonly identity: Gate;
  readonly toll: Gate;
  /** Enters the session of a request that no earlier gate refused. */
  readonly entry: Gate;
  /** Replaces `identity` for requests that the server makes in an agent's name. */
  readonly acting: Gate;
  /** Replaces all of these for inner dispatches, whose caller was admitted before. */
  readonly inner: Gate;
  readonly request: Gate;
  readonly handler: Gate;
}

export interface PipelineParts {
  readonly serverId: string;
  readonly directory: AgentDirectory;
  readonly defaultAgent: AgentDocument | undefined;
  /** Undefined if responses carry no record. */
  readonly attributor: Attributor | undefined;
  /** Undefined if bearer tokens are ignored. */
  readonly tokens: TokenVerifier | undefined;
  /** Undefined if no peer may vouch for agents. */
  readonly delegations: DelegationReader | undefined;
  readonly deadlines: Deadlines;
  readonly time: LoopTime;
  readonly idempotency: IdempotencyRegister;
  readonly view: Pick<ViewLease, "isFresh" | "catchUp">;
  readonly approvals: Pick<Approvals, "keepOutcome">;
  readonly observer: Observer;
}

/** The parts built from all endpoints together. */
interface EndpointParts {
  readonly gates: PipelineGates;
  /** Looks up the endpoint of a request that is refused before the endpoint gate. */
  lookUp(exchange: Exchange): void;
  readonly supportedMethods: string;
}

const UNJUDGED = "a token could not be judged";

export class Pipeline {
  readonly #parts: PipelineParts;
  readonly #gates: PipelineGates;
  readonly #lookUp: (exchange: Exchange) => void;
  readonly #stamp: Stamp;
  readonly #services: InvokeServices;
  readonly #callHandler: CallHandler;
  readonly #answerOnce: AnswerOnce;
  readonly #awaitLease: LeaseWait;

  constructor(parts: PipelineParts, { gates, lookUp, supportedMethods }: EndpointParts) {
    const { directory, observer, idempotency, view, deadlines } = parts;
    this.#parts = parts;
    this.#gates = gates;
    this.#awaitLease = createLeaseWait(view);
    this.#lookUp = lookUp;
    this.#stamp = createStamp({ ...parts, supportedMethods });
    this.#services = {
      deadlines,
      logFor: (exchange) => observer.logFor(exchange),
      reportFault: (fault) => observer.fault(fault),
      dispatch: (parent, method, path, input) => this.#dispatch(parent, method, path, input),
    };
    this.#callHandler = createCallHandler(gates.handler, this.#services);
    this.#answerOnce = createAnswerOnce({
      ...{ register: idempotency, view, directory, services: this.#services },
      callHandler: this.#callHandler,
    });
  }

  answer(exchange: Exchange): Response | Promise<Response> {
    const { observer, tokens, delegations } = this.#parts;
    observer.start(exchange);
    const reading = readCredentials(exchange, tokens, delegations);
    const waiting = reading === undefined ? this.#awaitLease() : reading.then(this.#awaitLease);
    if (waiting === undefined) {
      return this.#answerMeasured(exchange, this.#askOutsider, true);
    }
    return waiting.then(
      () => this.#answerMeasured(exchange, this.#askOutsider, false),
      (cause: unknown) => this.#finish(exchange, this.#fault(exchange, UNJUDGED, cause)),
    );
  }

  act(exchange: Exchange): Response | Promise<Response> {
    this.#parts.observer.start(exchange);
    return this.#answerMeasured(exchange, this.#askActing, true);
  }

  answerFault(fault: WireFault, peer?: Peer): Response {
    const response = this.#stamp(replyToRefusal(badRequest(fault.code, fault.message)));
    this.#parts.observer.wireFault(fault, response, peer);
    return response;
  }

  /**
   * Answers in a measured slice of the event loop, which its payer is charged for. If `isWhole`,
   * nothing was awaited before, and the slice began with the request. The answer waits until a new
   * session is stored.
   */
  #answerMeasured(
    exchange: Exchange,
    askArrival: Gate,
    isWhole: boolean,
  ): Response | Promise<Response> {
    const { time } = this.#parts;
    const began = time.begin(isWhole ? exchange.startedAt : undefined);
    let answer: Response | Promise<Response>;
    try {
      answer = this.#admit(exchange, askArrival);
    } finally {
      if (began) time.end(exchange, payerOf, isWhole ? exchange.toldAt : undefined);
    }
    if (began) {
      exchange.endedAt = time.endedAt;
      exchange.isNoticed = time.isNoticed;
    }
    const { sessionKept } = exchange;
    if (sessionKept === undefined) return answer;
    return Promise.all([answer, sessionKept]).then(([response]) => response);
  }

  /** The arrival gates for requests from outside. */
  readonly #askOutsider: Gate = (exchange) => {
    const { identity, toll, entry } = this.#gates;
    const refusal = identity(exchange);
    return toll(exchange) ?? refusal ?? exchange.frontRefusal ?? entry(exchange);
  };

  /**
   * The arrival gates for requests that the server makes: another account pays, unless a person had
   * the agent ask.
   */
  readonly #askActing: Gate = (exchange) => {
    const { acting, toll } = this.#gates;
    const refusal = acting(exchange);
    return exchange.askedBy === undefined ? refusal : (toll(exchange) ?? refusal);
  };

  /** Runs the arrival gates, and serves the requests that pass. */
  #admit(exchange: Exchange, askArrival: Gate): Response | Promise<Response> {
    const finish = (reply: Reply): Response => this.#finish(exchange, reply);
    try {
      const refusal = askArrival(exchange);
      if (refusal === undefined) return this.#serve(exchange, finish);
      // A rate-limited caller gets no deprecation warnings.
      if (refusal.status !== 429) this.#lookUp(exchange);
      return finish(replyToRefusal(refusal));
    } catch (error) {
      return finish(this.#fault(exchange, "a gate threw", error));
    }
  }

  #serve<T>(exchange: Exchange, finish: (reply: Reply) => T): T | Promise<T> {
    const refusal = this.#gates.request(exchange);
    if (refusal !== undefined) {
      return finish(replyToRefusal(concealRefusal(refusal, exchange.route)));
    }
    const { route } = exchange;
    if (route === undefined) throw new Error("no gate found a route");
    if (exchange.sessionKept === undefined) return this.#perform(exchange, route, finish);
    return this.#performInSession(exchange, route, finish);
  }

  /** Waits until the request's new session is stored and known to be its caller's, then performs it. */
  async #performInSession<T>(
    exchange: Exchange,
    route: Route,
    finish: (reply: Reply) => T,
  ): Promise<T> {
    const refusal = await refuseLostSession(exchange);
    if (refusal !== undefined) return finish(replyToRefusal(refusal));
    const perform = (): T | Promise<T> => {
      try {
        return this.#perform(exchange, route, finish);
      } catch (error) {
        return finish(this.#fault(exchange, "a gate threw", error));
      }
    };
    return this.#parts.time.slice(() => payerOf(exchange), perform);
  }

  #perform<T>(exchange: Exchange, route: Route, finish: (reply: Reply) => T): T | Promise<T> {
    const key = readIdempotencyKey(exchange, route);
    if (key === undefined) return this.#callHandler(exchange, route, finish);
    if (typeof key !== "string") return finish(replyToRefusal(key));
    return this.#answerOnce(exchange, route, key).then(finish);
  }

  /** Responds; an answer after an asynchronous wait is measured as a slice of its own. */
  #finish(exchange: Exchange, reply: Reply): Response {
    const { time } = this.#parts;
    if (time.isMeasuring) return this.#respond(exchange, reply);
    return time.slice(
      () => payerOf(exchange),
      () => this.#respond(exchange, reply),
    );
  }

  #respond(exchange: Exchange, reply: Reply): Response {
    let sent = reply;
    let response: Response;
    try {
      response = this.#stamp(reply, exchange);
    } catch (error) {
      sent = this.#fault(exchange, "the body cannot be encoded", error);
      response = this.#stamp(sent, exchange);
    }
    exchange.markAnswered();
    this.#parts.observer.end(exchange, response, sent);
    if (exchange.approval?.isUsed === true)
      void this.#parts.approvals.keepOutcome(exchange, response);
    return response;
  }

  #fault(exchange: Exchange, message: string, cause: unknown): Reply {
    return faultReply(exchange, this.#services, message, cause);
  }

  async #dispatch(
    parent: Exchange,
    method: string,
    path: string,
    input: Readonly<Record<string, unknown>>,
  ): Promise<DispatchResult> {
    const inner = innerExchange(parent, [method, path], input);
    return this.#parts.time.slice(
      () => payerOf(inner),
      () =>
        tellingOfInner(inner, (told) => {
          const finish = (reply: Reply): DispatchResult => {
            told(reply);
            if (mayHaveActed(inner, reply)) parent.markActed();
            if (inner.refusedBy === undefined && inner.route !== undefined) {
              parent.notePartScopes(inner.route.requiredScopes);
            }
            parent.onPart?.(`${method} ${inner.route?.path ?? path}`);
            return resultOf(reply, inner.route);
          };
          const refusal = this.#gates.inner(inner);
          return refusal === undefined
            ? this.#serve(inner, finish)
            : finish(replyToRefusal(refusal));
        }),
      inner.startedAt,
    );
  }
}
