/** Contracts for MCP clients: as tools, as offers, and in calls that lead to one. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { Paced } from "../../../base/paced.ts";
import type { Pair } from "../../../catalog/pair.ts";
import type { AssembledDeployment, ContractOffers } from "../../../dispatch/module/module.ts";
import type { CallRules } from "../../../dispatch/routes/may-call.ts";
import { nextToolName } from "../../../dispatch/tools/tool-names.ts";
import type { Contract } from "../../../endpoint/contract.ts";
import { matchTemplate } from "../../../endpoint/endpoint-registry.ts";
import { canonicalTextOf } from "../../../identity/canonical-form.ts";
import type { McpContext } from "../config.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import { ContractTools } from "./contract-tools.ts";

/** The header field that names the contract of a call. */
export const PRESENTED = "contract-synthesized";

export interface FrontContracts {
  readonly tools: ContractTools;
  /** Undefined if negotiation is off. */
  readonly offers: ContractOffers | undefined;
  /** Pairs that a recipe answers, by the tool name that each would have. */
  readonly negotiable: ReadonlyMap<string, Pair>;
  readonly states: RequestStates;
  /** Finds a contract of the agent that can be called or accepted. */
  find(synthesisId: string, agentId: string): Contract | undefined;
  /** Finds the agent's newest contract or offer for a pair without an endpoint. */
  unregistered(agentId: string, pair: Pair): string | undefined;
}

/** Dependencies, available once the deployment is assembled. */
interface FrontContractsParts {
  readonly context: McpContext;
  readonly toolbox: Toolbox;
  readonly rules: CallRules;
  readonly states: RequestStates;
  /** Names of the server's own tools, which are no endpoints. */
  readonly ownNames: ReadonlySet<string>;
}

/** Creates the contracts of a deployment with these tools. */
export function* creatingFrontContracts(parts: FrontContractsParts): Paced<FrontContracts> {
  const { context, toolbox, rules, states, ownNames } = parts;
  const { negotiation, contracts: register, registry } = context.deployment();
  const isTaken = (name: string): boolean => ownNames.has(name) || toolbox.find(name) !== undefined;
  const { contracts } = context.state;
  const { offers } = negotiation;
  const none: FrontContracts["negotiable"] = new Map();
  return {
    ...{ states, offers },
    tools: new ContractTools({
      ...{ register, rules, isTaken, routes: negotiation.routes, now: () => contracts.now() },
    }),
    negotiable: offers === undefined ? none : yield* negotiablePairs(context, isTaken),
    find: (synthesisId, agentId) => {
      const found = register.present(synthesisId, agentId);
      return found.kind === "usable" ? found.contract : undefined;
    },
    unregistered: (agentId, { method, path }) => {
      if (registry.find(method, path) !== undefined) return undefined;
      const newest = register.openOf(agentId).find(({ endpoint }) => {
        return endpoint.method === method && matchTemplate(endpoint.path, path) !== undefined;
      });
      return newest?.synthesisId;
    },
  };
}

/** Finds the pairs without an endpoint that recipes answer by method and path alone. */
function* negotiablePairs(
  { recipes, methodPolicy, deployment }: McpContext,
  isTaken: (name: string) => boolean,
): Paced<FrontContracts["negotiable"]> {
  const { registry }: AssembledDeployment = deployment();
  const pairs = new Map<string, Pair>();
  for (const { pattern } of recipes.values()) {
    yield;
    if (pattern?.pathExact === undefined) continue;
    const pair = { method: pattern.methodExact, path: pattern.pathExact };
    const isAnswered = registry.find(pair.method, pair.path) !== undefined;
    if (isAnswered || !methodPolicy.isAllowed(pair.method)) continue;
    const name = nextToolName(pair, (one) => isTaken(one) || isOther(pairs.get(one), pair));
    pairs.set(name, pair);
  }
  return pairs;
}

function isOther(known: Pair | undefined, { method, path }: Pair): boolean {
  return known !== undefined && (known.method !== method || known.path !== path);
}

/** The call that a question belongs to. */
interface AskedOf {
  /** The caller's key. */
  readonly caller: string;
  readonly tool: string;
  readonly arguments: JsonRecord;
}

/** Time within which the user must answer, in milliseconds; later the question is asked again. */
export const LIFE_MS: number = 10 * 60_000;
const MAX_LENGTH = 1_024;
/** Domain separation: part of every signed text, so that no other signature by the same secret fits. */
const PURPOSE = "agtpd mcp requestState 1";

/**
 * The `requestState` of a question to a client: the contract and an expiry time, signed together with the caller, the
 * tool and the arguments. A client can read it, but not change it.   MCP "Multi Round-Trip Requests"
 */
export class RequestStates {
  readonly #secret: Buffer;
  readonly #now: () => number;

  constructor(secret: Buffer, now: () => number) {
    this.#secret = secret;
    this.#now = now;
  }

  /** Issues the state for a contract that is offered until then; undefined if the arguments have no canonical form. */
  issue(asked: AskedOf, synthesisId: string, offeredUntil: number): string | undefined {
    const expiresAt = Math.min(offeredUntil, this.#now() + LIFE_MS);
    const named = { synthesisId, expiresAt };
    const payload = Buffer.from(JSON.stringify(named)).toString("base64url");
    const signature = this.#sign(payload, asked);
    return signature && `${payload}.${signature.toString("base64url")}`;
  }

  /** Returns the contract of a state; undefined if it is forged, another call's, or expired. */
  read(state: string, asked: AskedOf): string | undefined {
    if (state.length > MAX_LENGTH) return undefined;
    const [payload = "", signature = "", ...others] = state.split(".");
    const given = Buffer.from(signature, "base64url");
    const expected = this.#sign(payload, asked);
    if (expected?.length !== given.length || others.length > 0) return undefined;
    if (!timingSafeEqual(given, expected)) return undefined;
    const value: unknown = JSON.parse(Buffer.from(payload, "base64url").toString());
    if (!isRecord(value)) return undefined;
    const { synthesisId, expiresAt } = value;
    if (typeof synthesisId !== "string" || typeof expiresAt !== "number") return undefined;
    return expiresAt > this.#now() ? synthesisId : undefined;
  }

  #sign(payload: string, { caller, tool, arguments: input }: AskedOf): Buffer | undefined {
    const signed = canonicalTextOf([PURPOSE, caller, tool, input, payload]);
    return signed === undefined
      ? undefined
      : createHmac("sha256", this.#secret).update(signed).digest();
  }
}
