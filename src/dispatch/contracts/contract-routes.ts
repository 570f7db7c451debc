/**
 * Contracts as routes: the agreed schemas are compiled on the first call, and the captured plan
 * runs like any composition. A contract that ends before it runs is refused like an ended one that
 * is presented; one that ends while it runs takes no further step.   AGTP-API §10.1.1, §10.5, §10.7
 */
import { recentlyUsed } from "../../base/recently-used.ts";
import { type Contract, contractDefinition } from "../../endpoint/contract.ts";
import { matchTemplate } from "../../endpoint/endpoint-registry.ts";
import { type InputShape, inputShape } from "../../endpoint/input-shape.ts";
import { createComposition, type FloorCheck } from "../../handlers/composition.ts";
import {
  type Call,
  type HandlerResult,
  type HandlerSuccess,
  isHandlerError,
} from "../../handlers/handler.ts";
import type { CompiledSchema } from "../../schema/schema.ts";
import type { ContractRegister } from "../../state/registers/contract-register.ts";
import type { Exchange } from "../exchange.ts";
import { CallContext } from "../handling/call-context.ts";
import { badRequest, namedError, type Refusal } from "../refusals/refusal.ts";
import { refusePresented } from "../refusals/refuse-contract.ts";
import { createRoute, type ExchangeView, type Route, type RouteHandler } from "../routes/route.ts";
import type { Attempts } from "./attempts.ts";

interface ContractRoutesOptions {
  readonly register: Pick<ContractRegister, "find" | "present" | "change">;
  readonly attempts: Attempts;
  /** Called once for each contract that its agent agreed to. */
  accepted(contract: Contract, call: Call, exchange: ExchangeView): Promise<unknown>;
  readonly isFloor: FloorCheck;
  /** Compiles a schema that was checked when it was proposed; equal schemas share one result. */
  compile(schema: Contract["endpoint"]["input_schema"]): CompiledSchema;
}

/**
 * Cached routes, of some 3 KB each. With 10,000 contracts called in turn, a cache of 500 made each
 * call build its route: 60 % of the throughput of ten contracts, against 81 % now.
 */
const READY = 10_000;

export class ContractRoutes {
  readonly #options: ContractRoutesOptions;
  readonly #routes = recentlyUsed<Route>(READY);
  readonly #shapes = new WeakMap<CompiledSchema, InputShape>();
  /** Agreements in progress, by contract id; a call that presents such a contract waits. */
  readonly #agreements = new Map<string, Promise<void>>();

  constructor(options: ContractRoutesOptions) {
    this.#options = options;
  }

  /** Returns the route of a contract that may be called. */
  routeOf(contract: Contract): Route {
    const known = this.#routes.get(contract.synthesisId);
    if (known !== undefined) return known;
    const route = this.#build(contract);
    this.#routes.set(contract.synthesisId, route);
    return route;
  }

  /**
   * Puts a contract in the place of an endpoint, for the caller that presents it or for its owner.
   * 400 `contract-mismatch` if it is for another pair.   AGTP-API §10.1.4
   */
  bind(exchange: Exchange, contract: Contract): Refusal | undefined {
    const { method, path } = contract.endpoint;
    const values = matchTemplate(path, exchange.path);
    if (method !== exchange.method || values === undefined) {
      const reason = "contract-mismatch";
      return badRequest(reason, `the contract is for ${method} ${path}`, { reason });
    }
    exchange.route = this.routeOf(contract);
    exchange.pathValues = values;
    return undefined;
  }

  #build(contract: Contract): Route {
    const { compile, isFloor, register, attempts } = this.#options;
    const { synthesisId, agentId, contractHash, origin, endpoint, plan } = contract;
    const reference = {
      synthesis_id: synthesisId,
      contract_hash: contractHash,
      negotiation_origin: origin,
    };
    const run = createComposition(asRecipe(plan), isFloor);
    const output = compile(endpoint.output_schema);
    const handler: RouteHandler = async (call, exchange) => {
      await this.agree(contract, call, exchange);
      const presented = register.present(synthesisId, agentId);
      if (presented.kind !== "usable") return refusePresented(presented, exchange, attempts);
      exchange.contract = reference;
      const result = await run(this.#guard(call, synthesisId));
      return withContract(asAgreed(result, plan, output), synthesisId);
    };
    // The handler checks the output itself: the schema is the caller's own, and the caller is shown
    // what fails it.
    const input = compile(endpoint.input_schema);
    const shape = this.#shapes.get(input) ?? inputShape(input.schema);
    this.#shapes.set(input, shape);
    const { name: recipe, steps } = plan;
    const definition = contractDefinition(endpoint, recipe);
    return createRoute(definition, handler, { tier: "C", input, shape, steps });
  }

  /**
   * Accepts a contract that a 461 offered, as presenting it does; undefined if it was accepted
   * before. It may have ended by the time this resolves, since another node may have ended it.
   */
  agree(contract: Contract, call: Call, exchange: ExchangeView): Promise<void> | undefined {
    const { synthesisId } = contract;
    const { register, accepted } = this.#options;
    const begun = this.#agreements.get(synthesisId);
    if (begun !== undefined || register.find(synthesisId)?.state !== "offered") return begun;
    const agreement = register
      .change(synthesisId, "active")
      .then(async ({ isChanged }) => {
        if (isChanged) await accepted(contract, call, exchange);
      })
      .finally(() => this.#agreements.delete(synthesisId));
    this.#agreements.set(synthesisId, agreement);
    return agreement;
  }

  /** Wraps a call so that its further steps are refused once the contract ends. */
  #guard(call: Call, synthesisId: string): Call {
    const { register } = this.#options;
    const dispatch: Call["dispatch"] = (method, path, input) => {
      if (register.find(synthesisId)?.state === "active") return call.dispatch(method, path, input);
      const error = { code: "contract-revoked", message: "the contract ended while it ran" };
      return Promise.resolve({ status: 464, headers: {}, body: { error } });
    };
    return CallContext.changed(call, { dispatch });
  }
}

function asRecipe(plan: Contract["plan"]) {
  return { ...plan, file: "", description: "", requiredScopes: [] };
}

/**
 * Returns a result that the contract's output schema accepts. Any other fails the composition at
 * its last step and is included in the error: the steps did their work, and since the schema is the
 * agent's own, only the agent can judge the mismatch.   AGTP-API §10.1.5, §12.1
 */
function asAgreed(
  result: HandlerResult,
  { name, steps }: Contract["plan"],
  output: CompiledSchema,
): HandlerResult {
  if (isHandlerError(result)) return result;
  const errors = output.check(result.body);
  if (errors === undefined) return result;
  const message = "the answer is not what the contract's output_schema describes";
  const last = steps.at(-1);
  return {
    error: "composition_failed",
    message,
    details: {
      ...{ recipe: name, step: steps.length, method: last?.method, path: last?.path },
      ...{ status: 200, error: { code: "output-validation-failed", message, errors } },
      outputs: { answer: result.body },
    },
  };
}

/** Adds the contract's id to every answer, including failures. */
function withContract(result: HandlerResult, synthesisId: string): HandlerSuccess | Refusal {
  const header = { "Contract-Synthesized": synthesisId };
  if (!isHandlerError(result)) return { ...result, headers: { ...result.headers, ...header } };
  const { error, message, details } = result;
  return { ...namedError(error, message, details), headers: header };
}
