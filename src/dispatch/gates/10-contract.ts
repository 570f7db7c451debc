/**
 * Gate 10. Is the presented contract usable? It is checked even if the pair is registered. 404
 * never issued here · 400 for another pair · 464 ended, or another agent's.   AGTP-API §10.1.4
 */
import type { ContractRegister } from "../../state/registers/contract-register.ts";
import type { Attempts } from "../contracts/attempts.ts";
import type { ContractRoutes } from "../contracts/contract-routes.ts";
import { presentedContract } from "../exchange.ts";
import { refusePresented } from "../refusals/refuse-contract.ts";
import type { Gate } from "./gate.ts";

/** The contracts, and the log of failed attempts. */
export interface ContractGateOptions {
  readonly register: Pick<ContractRegister, "present">;
  readonly routes: Pick<ContractRoutes, "bind">;
  readonly attempts: Attempts;
}

/** Routes the request to the presented contract; inner dispatches present none. */
export function contractGate({ register, routes, attempts }: ContractGateOptions): Gate {
  return (exchange) => {
    if (exchange.inner !== undefined) return undefined;
    const presented = presentedContract(exchange);
    if (presented === undefined) return undefined;
    const found = register.present(presented, exchange.caller.document?.agentId);
    if (found.kind === "usable") return routes.bind(exchange, found.contract);
    return refusePresented(found, exchange, attempts);
  };
}
