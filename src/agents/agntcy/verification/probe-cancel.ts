/**
 * Whether a server calls runs off. No manifest says it, and servers exist that have the call and fail
 * it: so it is asked for a run that cannot be. A server that has it says that it knows no such run, in
 * other words than it says that it knows no such path.
 */
import { randomUUID } from "node:crypto";
import type { AcpClient } from "../acp/acp-client.ts";

/** Nothing is called off: the run's id is made up. */
export async function probeCancel(client: AcpClient, signal: AbortSignal): Promise<boolean> {
  const runId = randomUUID();
  const [known, unknown] = await Promise.all([
    client.probe(runId, "cancel?wait=false&action=interrupt", signal),
    client.probe(runId, "agtp-no-such-call", signal),
  ]);
  if (known.kind === "answered") return unknown.kind !== "answered";
  const { status, detail } = known;
  if (status === 409 || status === 422) return true;
  if (status !== 404) return false;
  return unknown.kind === "failed" && (unknown.status !== 404 || unknown.detail !== detail);
}
