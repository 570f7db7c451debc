/**
 * Contracts as routes: the agreed schemas compiled when somebody calls, and the captured plan run as
 * any composition is. A contract that ends while it runs takes no further step.
 * AGTP-API §10.1.1, §10.5, §10.7
 */
import { LRUCache } from "lru-cache";
import type { EndpointDefinition } from "../contract/endpoint.ts";
import { inputShape } from "../contract/input-shape.ts";
import type { CompiledSchema } from "../contract/schema.ts";
import { createComposition, type FloorCheck } from "../handlers/composition.ts";
import type { Call } from "../handlers/handler.ts";
import type { Contract } from "../synthesis/contract.ts";
import type { ContractRegister } from "../synthesis/contract-register.ts";
import type { ExchangeView, Route } from "./route.ts";

export interface ContractRoutesOptions {
  readonly register: Pick<ContractRegister, "find" | "change">;
  readonly isFloor: FloorCheck;
  /** Schemas were checked when they were proposed. */
  compile(schema: Contract["endpoint"]["input_schema"]): CompiledSchema;
}

/** Routes that are kept ready. */
const READY = 500;

export class ContractRoutes {
  readonly #options: ContractRoutesOptions;
  readonly #routes = new LRUCache<string, Route>({ max: READY });

  constructor(options: ContractRoutesOptions) {
    this.#options = options;
  }

  /** The route of a contract that may be called. */
  routeOf(contract: Contract): Route {
    const known = this.#routes.get(contract.synthesisId);
    if (known !== undefined) return known;
    const route = this.#build(contract);
    this.#routes.set(contract.synthesisId, route);
    return route;
  }

  #build({ synthesisId, contractHash, origin, endpoint, plan }: Contract): Route {
    const { compile, isFloor } = this.#options;
    const run = createComposition(planRecipe(plan), isFloor);
    return {
      method: endpoint.method,
      path: endpoint.path,
      tier: "C",
      isReading: false,
      definition: definitionOf(endpoint),
      contract: {
        synthesis_id: synthesisId,
        contract_hash: contractHash,
        negotiation_origin: origin,
      },
      input: compile(endpoint.input_schema),
      output: compile(endpoint.output_schema),
      shape: inputShape(endpoint.input_schema),
      errors: new Set(endpoint.errors),
      warning: undefined,
      endsInTime: false,
      handler: async (call: Call, _exchange: ExchangeView) => {
        await this.#agree(synthesisId);
        return run(this.#guard(call, synthesisId));
      },
    };
  }

  /** Presenting what a 461 offered is agreeing to it. */
  async #agree(synthesisId: string): Promise<void> {
    const { register } = this.#options;
    if (register.find(synthesisId)?.state !== "offered") return;
    await register.change(synthesisId, "active");
  }

  /** The call of a contract, whose steps are refused from the moment that the contract is over. */
  #guard(call: Call, synthesisId: string): Call {
    const { register } = this.#options;
    const dispatch: Call["dispatch"] = (method, path, input) => {
      if (register.find(synthesisId)?.state === "active") return call.dispatch(method, path, input);
      const error = { code: "contract-revoked", message: "the contract ended while it ran" };
      return Promise.resolve({ status: 464, headers: {}, body: { error } });
    };
    return new Proxy(call, {
      get: (target, name) => (name === "dispatch" ? dispatch : Reflect.get(target, name, target)),
    });
  }
}

function planRecipe(plan: Contract["plan"]) {
  return { ...plan, file: "", description: "", requiredScopes: [] };
}

function definitionOf(endpoint: Contract["endpoint"]): EndpointDefinition {
  return {
    file: "",
    method: endpoint.method,
    path: endpoint.path,
    description: endpoint.description,
    semantic: endpoint.semantic,
    inputSchema: endpoint.input_schema,
    outputSchema: endpoint.output_schema,
    errors: endpoint.errors,
    requiredScopes: endpoint.required_scopes,
    handler: { type: "composition", recipe: "" },
  };
}
