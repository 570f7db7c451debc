/**
 * Finds out whether a server calls runs off. No manifest says it, and servers exist that publish
 * the call and fail it: so it is asked for a run that cannot be, in the plainest way there is. Only
 * an answer that nothing but calling off gives counts, from a server that does not deny the call in
 * its own description; whatever is unclear is a no.   Agent Connect Protocol "Cancel Stateless Run"
 */
import { randomUUID } from "node:crypto";
import { isRecord } from "../../../base/json-value.ts";
import type { AcpAnswer, AcpFailure } from "../acp/acp-call.ts";
import type { AcpClient } from "../acp/acp-client.ts";

const CALL = "cancel";
/** A call that no server has; as long as the other, so that nothing but the name differs. */
const NO_CALL = "agtp-x";
const DESCRIBED = /^\/.*\{[^/{}]+\}\/cancel$/;

/** Nothing is called off: the run's id is made up. */
export async function probeCancel(client: AcpClient, signal: AbortSignal): Promise<boolean> {
  const runId = randomUUID();
  const [described, known, unknown] = await Promise.all([
    client.description(signal),
    client.probe(runId, CALL, signal),
    client.probe(runId, NO_CALL, signal),
  ]);
  if (isDenied(described)) return false;
  if (known.kind === "answered") return unknown.kind !== "answered";
  // The run is not there, or not to be called off: whoever says so has looked.
  const hasLooked = known.status === 404 || known.status === 409;
  return hasLooked && (unknown.kind !== "failed" || !isSameAnswer(known, unknown));
}

/** The server describes itself, and says nothing of the call. */
function isDenied(answer: AcpAnswer): boolean {
  const paths = answer.kind === "answered" && isRecord(answer.body) ? answer.body["paths"] : null;
  if (!isRecord(paths)) return false;
  const own = Object.entries(paths).filter(([path]) => path.includes("/runs"));
  const isDescribed = own.some(
    ([path, item]) => DESCRIBED.test(path) && isRecord(item) && Object.hasOwn(item, "post"),
  );
  return own.length > 0 && !isDescribed;
}

/** Some servers repeat the path that they do not know. */
function isSameAnswer(known: AcpFailure, unknown: AcpFailure): boolean {
  const said = known.detail?.replaceAll(CALL, NO_CALL);
  return known.status === unknown.status && said === unknown.detail;
}
