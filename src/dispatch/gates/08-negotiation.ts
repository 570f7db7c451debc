/**
 * Gate 08. Nothing is registered here: is there a contract, or may one be negotiated?
 * 404 unknown path, or a contract this server never issued · 405 known path, other methods · 400 a
 * contract for another pair · 464 a contract that is over or somebody else's, and the first and
 * fourth lock · 262 the third.   AGTP-API §6.1, §10.1
 */
import type { RcnsConfig } from "../../base/config.ts";
import type { Contract } from "../../endpoint/contract.ts";
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import { matchTemplate } from "../../endpoint/path-template.ts";
import type { ContractRegister } from "../../state/contract-register.ts";
import type { Attempts } from "../attempts.ts";
import type { ContractRoutes } from "../contract-routes.ts";
import { type Exchange, presentedContract } from "../exchange.ts";
import type { MethodPolicy } from "../method-policy.ts";
import {
  authorizationRequired,
  badRequest,
  noContract,
  notFound,
  type Refusal,
} from "../refusal.ts";
import type { NoContractReason } from "../refusal-code.ts";
import type { Route } from "../route.ts";
import { refuseMethod } from "./04-policy.ts";
import type { Gate } from "./gate.ts";

/** The contracts there are, and what remembers those that could not be had. */
export interface ContractParts {
  readonly register: Pick<ContractRegister, "present" | "active">;
  readonly routes: Pick<ContractRoutes, "routeOf">;
  readonly attempts: Attempts;
}

/** What gate 08 decides by. */
export interface NegotiationGateOptions extends ContractParts {
  readonly policy: MethodPolicy;
  readonly registry: EndpointRegistry<Route>;
  readonly rcns: RcnsConfig;
  readonly synthesisEnabled: boolean;
  /** Answers where all locks are open. */
  readonly negotiation: Route;
}

/** The scope that the third lock asks for. */
const NEGOTIATE = "rcns:negotiate";

/** Gate 08 for a pair that is not registered; what a handler dispatches negotiates nothing. */
export function negotiationGate(options: NegotiationGateOptions): Gate {
  const { policy, registry, register, routes } = options;
  return (exchange) => {
    if (exchange.inner === undefined) {
      const contract = resolveContract(register, exchange);
      if (contract !== undefined) return bind(exchange, contract, routes);
      if (exchange.header("allow-rcns") === "true") return tryLocks(exchange, options);
    }
    if (registry.methodsFor(exchange.path).length > 0) {
      return refuseMethod(exchange, policy, registry);
    }
    return notFound("endpoint-not-found", "nothing is registered at this path");
  };
}

/** The owner's newest contract for the pair; for anybody else there is none.   §10.1.1 */
function resolveContract(
  register: ContractParts["register"],
  { caller, method, path }: Exchange,
): Contract | undefined {
  // Whom this server does not know has none, whatever it calls itself.
  if (caller.document === undefined) return undefined;
  return register
    .active(caller.document.agentId)
    .find(
      ({ endpoint }) =>
        endpoint.method === method && matchTemplate(endpoint.path, path) !== undefined,
    );
}

function bind(
  exchange: Exchange,
  contract: Contract,
  routes: ContractParts["routes"],
): Refusal | undefined {
  const values = matchTemplate(contract.endpoint.path, exchange.path);
  if (contract.endpoint.method !== exchange.method || values === undefined) {
    const { method, path } = contract.endpoint;
    return badRequest("contract-mismatch", `the contract is for ${method} ${path}`, {
      reason: "contract-mismatch",
    });
  }
  exchange.route = routes.routeOf(contract);
  exchange.pathValues = values;
  return undefined;
}

/** A presented contract is checked on every request, whether or not the pair is registered. */
export function presentationGate({ register, routes, attempts }: ContractParts): Gate {
  return (exchange) => {
    if (exchange.inner !== undefined) return undefined;
    const presented = presentedContract(exchange);
    if (presented === undefined) return undefined;
    const found = register.present(presented, exchange.caller.document?.agentId);
    switch (found.kind) {
      case "usable":
        return bind(exchange, found.contract, routes);
      case "unknown":
        return notFound("contract-not-found", "no contract with this synthesis_id");
      case "foreign":
        return refuse(exchange, attempts, "contract-not-yours", "the contract is another agent's");
      case "over":
        return refuse(exchange, attempts, "contract-revoked", howItEnded(found.contract));
    }
  };
}

function howItEnded({ state, reason }: Contract): string {
  const because = reason === undefined ? "" : `: ${reason}`;
  return `the contract is ${state}${because}`;
}

type Locks = Readonly<Record<string, string>>;

const LOCKS = ["rcns-enabled", "allow-rcns", "scope", "trust-tier"] as const;

/** The opt-in, the second lock, is open: whoever did not opt in has seen an ordinary miss. */
function tryLocks(exchange: Exchange, options: NegotiationGateOptions): Refusal | undefined {
  const { rcns, synthesisEnabled, attempts } = options;
  const { caller } = exchange;
  if (!rcns.enabled || !synthesisEnabled) {
    const explanation = "this server does not negotiate contracts at run time";
    return refuse(exchange, attempts, "rcns-disabled", explanation, locks(0));
  }
  if (!caller.authority.covers(NEGOTIATE)) {
    const message = `negotiation needs the scope ${NEGOTIATE}`;
    return authorizationRequired("scope-required", message, { scope: NEGOTIATE });
  }
  if (caller.document === undefined) {
    // A contract is kept, and nobody whom this server does not know makes it write.
    const explanation = "negotiation is for agents that this server knows";
    return refuse(exchange, attempts, "trust-tier-insufficient", explanation, locks(3));
  }
  if (caller.trustTier === undefined || caller.trustTier > rcns.minTrustTier) {
    const explanation = `negotiation needs trust tier ${rcns.minTrustTier} or stronger`;
    return refuse(exchange, attempts, "trust-tier-insufficient", explanation, locks(3));
  }
  exchange.route = options.negotiation;
  return undefined;
}

/** How the locks stand when this one is the first that is closed. */
function locks(closed: number): Locks {
  const state = (index: number): string =>
    index === 1 || index < closed ? "open" : index === closed ? "closed" : "unseen";
  return Object.fromEntries(LOCKS.map((lock, index) => [lock, state(index)]));
}

/** 464, remembered for INSPECT. */
export function refuse(
  exchange: Pick<Exchange, "caller" | "method" | "path">,
  attempts: Attempts,
  reason: NoContractReason,
  explanation: string,
  state: Locks = {},
): Refusal {
  const attemptId = attempts.add({
    agent_id: exchange.caller.agentId ?? "",
    method_attempted: exchange.method,
    path_attempted: exchange.path,
    trust_tier: exchange.caller.trustTier ?? null,
    locks: state,
    reason,
    explanation,
  });
  return noContract(reason, explanation, attemptId);
}
