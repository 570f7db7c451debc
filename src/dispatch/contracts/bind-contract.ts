/**
 * Puts a contract in the place of an endpoint: by the header that presents it, or by its owner's call.
 * 400 `contract-mismatch` where it is for another pair.   AGTP-API §10.1.4
 */
import type { Contract } from "../../endpoint/contract.ts";
import { matchTemplate } from "../../endpoint/endpoint-registry.ts";
import type { Exchange } from "../exchange.ts";
import { badRequest, type Refusal } from "../refusals/refusal.ts";
import type { ContractRoutes } from "./contract-routes.ts";

/** Sets the route, or refuses a contract that is for another pair. */
export function bindContract(
  exchange: Exchange,
  contract: Contract,
  routes: Pick<ContractRoutes, "routeOf">,
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
