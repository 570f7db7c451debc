/** The workers of a daemon as its operator sees them: one daemon, and a node for each. */
import { VERSION } from "../../base/version.ts";
import type { NodeFacts } from "../../dispatch/module/http-gateway.ts";
import type { Crew } from "./crew.ts";
import type { CommandAnswer, CommandOrder, WorkerStatus } from "./orders.ts";

/** The daemon that the workers are of. */
export interface WholeDaemon {
  /** `host:port`. */
  readonly address: string;
  readonly leaseMs: number;
  readonly isEnding: boolean;
}

/** The workers as nodes; one that does not answer is lost. */
export function nodesOf(crew: Crew, daemon: WholeDaemon): Promise<readonly NodeFacts[]> {
  const { address, leaseMs, isEnding } = daemon;
  return Promise.all(
    crew.members.map(async ({ node, since, watch }): Promise<NodeFacts> => {
      const status = await watch.ask<WorkerStatus>("status").catch(() => undefined);
      const served = isEnding || status?.isFresh !== true ? "draining" : "ready";
      const state = status === undefined ? "lost" : served;
      return { node, address, version: VERSION, since, state, lease_ms: leaseMs };
    }),
  );
}

/** The version of the manifest that the lead serves; undefined while it does not answer, or is being replaced. */
export async function documentVersionOf({ lead }: Crew): Promise<string | undefined> {
  const status = await lead?.watch.ask<WorkerStatus>("status").catch(() => undefined);
  return status?.documentVersion ?? undefined;
}

/** Passes a command of the deployment to the lead. */
export async function commandLead({ lead }: Crew, order: CommandOrder): Promise<unknown> {
  if (lead === undefined) throw new Error("the worker that does this is being replaced");
  const { isKnown, result } = await lead.watch.ask<CommandAnswer>("command", order);
  if (!isKnown) throw new Error(`this daemon has no command ${JSON.stringify(order.name)}`);
  return result;
}
