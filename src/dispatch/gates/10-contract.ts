/**
 * Gate 10. Is the contract that the caller presents to be had? It is asked whether or not the pair is
 * registered. 404 one that this server never issued · 400 one for another pair · 464 one that is over or
 * somebody else's.   AGTP-API §10.1.4
 */
import type { ContractRegister } from "../../state/registers/contract-register.ts";
import type { Attempts } from "../contracts/attempts.ts";
import type { ContractRoutes } from "../contracts/contract-routes.ts";
import { presentedContract } from "../exchange.ts";
import { refusePresented } from "../refusals/refuse-contract.ts";
import type { Gate } from "./gate.ts";

/** The contracts there are, and what remembers those that could not be had. */
export interface ContractGateOptions {
  readonly register: Pick<ContractRegister, "present">;
  readonly routes: Pick<ContractRoutes, "bind">;
  readonly attempts: Attempts;
}

/** Puts the contract in the place of what is registered; what a handler dispatches presents none. */
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
