/** Refusals of the endpoints that OpenWOP agents are reached by.   OpenWOP RFC 0072 §A */
import { type Refusal, refusal } from "./refusal.ts";

/** 404: no such agent is installed, for this caller. */
export function agentNotInstalled(): Refusal {
  return refusal(404, "agent_not_found", "no agent of that name is installed on this server");
}
