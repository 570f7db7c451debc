/** A reload of all workers: each builds the deployment first, then all of them serve it, or none. */
import type { Problem } from "../../base/problem.ts";
import { reasonOf } from "../../base/thrown.ts";
import type { CrewMember } from "./crew.ts";
import type { AdoptAnswer, PrepareAnswer, PrepareOrder } from "./orders.ts";

/** A reload, and what was found on the way. */
interface WholeReload {
  readonly found: readonly Problem[];
  readonly errors: readonly Problem[];
  /** Undefined: nothing has changed. */
  readonly adopted: AdoptAnswer | undefined;
}

/** Reloads them; `ticketKeys` are those of the new deployment, 48 octets in base64. */
export async function reloadAll(
  members: readonly CrewMember[],
  ticketKeys: string,
): Promise<WholeReload> {
  const said: PrepareAnswer[] = [];
  // The first makes what the others find, such as the identity of a new agent.
  for (const member of members) {
    const answer = await prepare(member, { ticketKeys });
    said.push(answer);
    if (!answer.isPrepared) break;
  }
  const found = distinct(said.flatMap((one) => one.found));
  const errors = distinct(said.flatMap((one) => one.errors));
  if (said.length === 0 || said.some(({ isPrepared }) => !isPrepared)) {
    await Promise.all(members.map(({ process }) => process.link.ask("discard").catch(ignore)));
    return { found, errors, adopted: undefined };
  }
  const adopted = await Promise.all(
    // One that is lost now begins anew, with what the others adopt.
    members.map(({ process }) => process.link.ask<AdoptAnswer>("adopt").catch(ignore)),
  );
  const remaining = distinct(adopted.flatMap((one) => one?.remaining ?? []));
  const fingerprint256 = adopted.find((one) => one !== undefined)?.fingerprint256 ?? "";
  return { found, errors, adopted: { remaining, fingerprint256 } };
}

async function prepare({ node, process }: CrewMember, order: PrepareOrder): Promise<PrepareAnswer> {
  try {
    return await process.link.ask<PrepareAnswer>("prepare", order);
  } catch (error) {
    const message = `worker ${node} cannot build the deployment: ${reasonOf(error)}`;
    const problems: readonly Problem[] = [{ file: "", key: "", message }];
    return { isPrepared: false, found: problems, errors: problems };
  }
}

/** Each problem once, though every worker has found it. */
export function distinct(problems: readonly Problem[]): readonly Problem[] {
  return [...new Map(problems.map((one) => [JSON.stringify(one), one])).values()];
}

function ignore(): undefined {
  return undefined;
}
