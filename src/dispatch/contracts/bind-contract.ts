/** A contract in the place of the endpoint that a request asks for.   AGTP-API §10.1.1 */
import type { Contract } from "../../endpoint/contract.ts";
import { matchTemplate } from "../../endpoint/path-template.ts";
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
