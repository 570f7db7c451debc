/**
 * Ends contracts: one on request, or all of a session or of a removed method. Each has an event in
 * its agent's stream as soon as it has ended, even if ending another one fails.   AGTP-API §4.5,
 * §10.1.4, §10.8
 */
import type { Contract } from "../../endpoint/contract.ts";
import type { HandlerSuccess } from "../../handlers/handler.ts";
import type { ContractRegister } from "../../state/registers/contract-register.ts";
import type { Suspension } from "../../state/registers/suspension.ts";
import type { SuspensionRegister } from "../../state/registers/suspension-register.ts";
import type { Refusal } from "../refusals/refusal.ts";
import { contractNotFound } from "../refusals/refuse-contract.ts";
import { floorResult } from "../routes/floor.ts";
import type { CausingRequest } from "../stream-events.ts";
import { actorOf, type RecordEvents } from "./contract-events.ts";

interface ContractEnds {
  readonly register: Pick<ContractRegister, "change">;
  readonly record: RecordEvents;
}

export interface ContractEnd {
  readonly contract: Contract;
  readonly state: "revoked" | "released";
  /** The reason in the event. */
  readonly reason: string;
  /** The explanation for a caller that presents it; defaults to the reason. */
  readonly explanation?: string;
}

/** Ends contracts and returns those that this call ended; another node may have been first. */
export async function endContracts(
  { register, record }: ContractEnds,
  ends: readonly ContractEnd[],
  cause?: CausingRequest,
): Promise<readonly ContractEnd[]> {
  const ended = ends.map(async (end) => {
    const { contract, state, reason, explanation = reason } = end;
    const { isChanged } = await register.change(contract.synthesisId, state, explanation);
    if (isChanged) await record([{ type: "rcns_release", contract, reason }], cause);
    return isChanged ? [end] : [];
  });
  return (await Promise.all(ended)).flat();
}

interface AskedEnd extends Pick<ContractEnd, "contract" | "state"> {
  readonly reason: string | undefined;
}

const EVENT_TYPES = { revoked: "rcns_revoke", released: "rcns_release" } as const;

/**
 * Ends a contract on request. Nobody is told that it had already ended until that holds on every
 * node.   AGTP-API §10.1.4
 */
export async function endContract(
  { register, record }: ContractEnds,
  { contract, state, reason }: AskedEnd,
  cause: CausingRequest,
): Promise<HandlerSuccess | Refusal> {
  const { call, exchange } = cause;
  const { synthesisId } = contract;
  const found = await register.change(synthesisId, state, reason ?? state);
  if (found.contract === undefined) return contractNotFound();
  const answer = { synthesis_id: synthesisId, status: found.contract.state };
  if (!found.isChanged) return floorResult(call, { ...answer, noop: true });
  const type = EVENT_TYPES[state];
  const [auditId] = await record([{ type, contract, reason, ...actorOf(call, exchange) }], cause);
  return floorResult(call, { ...answer, event_type: type, audit_id: auditId });
}

/** Returns the end of a contract's session; undefined if it continues or the contract outlives it. */
export function sessionEndOf(
  suspensions: Pick<SuspensionRegister, "holdOf">,
  { agentId, sessionId, isPersistent }: Contract,
): Suspension | undefined {
  if (sessionId === undefined || isPersistent) return undefined;
  const hold = suspensions.holdOf(sessionId);
  return hold?.agentId === agentId && hold.state !== "suspended" ? hold : undefined;
}
