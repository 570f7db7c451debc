/**
 * Waits until an agent's server has come to a verdict on a run, however often it takes. An `error` is
 * not believed at once: the server tries a failed run again, and the next answer may be a success.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Verdict } from "../acp/acp-answers.ts";
import type { AcpFailure } from "../acp/acp-call.ts";
import type { AcpClient, RunAddress } from "../acp/acp-client.ts";

/** The message about a run that its server has lost. */
export const FORGOTTEN = "the upstream knows nothing of the run any more";

/** An answer that means nothing may be one that broke on the way. */
const MEANINGLESS_LOOKS = 2;

/** One request that waits is open for as long. */
export const WAIT_MS = 30_000;
/** The pause after an answer that nothing has happened yet. */
export const PENDING_MS = 500;
/** After each `error`, before it is looked at again; then it is believed. */
const ERRORS_MS: readonly number[] = [300, 700, 1500];
/** After each call that came to nothing; then the server is given up. */
export const FAILURES_MS: readonly number[] = [200, 400, 800, 1600, 3200];

/** The verdict, or the failure that is left. Rejects when the signal ends it. */
type FinalVerdict = Exclude<Verdict, { readonly kind: "pending" }> | AcpFailure;

/** Waits; the signal bounds it. */
export async function awaitVerdict(
  client: AcpClient,
  address: RunAddress,
  signal: AbortSignal,
): Promise<FinalVerdict> {
  let errors = 0;
  let failures = 0;
  for (;;) {
    signal.throwIfAborted();
    const answer = await client.waitForRun(address, WAIT_MS, signal);
    signal.throwIfAborted();
    if (answer.kind === "ok") {
      failures = 0;
      const verdict = answer.value;
      if (verdict.kind === "pending") await delay(PENDING_MS, undefined, { signal });
      else if (verdict.kind !== "error") return verdict;
      else {
        const pauseMs = ERRORS_MS[errors++];
        if (pauseMs === undefined) return verdict;
        await delay(pauseMs, undefined, { signal });
      }
      continue;
    }
    const known = await lookUp(client, address, answer, signal);
    if (known === "pending") {
      await delay(PENDING_MS, undefined, { signal });
      continue;
    }
    if (known !== undefined) return known;
    const pauseMs = FAILURES_MS[failures++];
    const isHopeless = failures > MEANINGLESS_LOOKS && isMeaningless(answer);
    if (pauseMs === undefined || isHopeless) return answer;
    await delay(pauseMs, undefined, { signal });
  }
}

/** The server's word on the run where it could not say how it ended. */
async function lookUp(
  client: AcpClient,
  address: RunAddress,
  failure: AcpFailure,
  signal: AbortSignal,
): Promise<FinalVerdict | "pending" | undefined> {
  if (failure.error === "upstream_authentication_failed") return failure;
  const run = await client.run(address, signal);
  signal.throwIfAborted();
  if (run.kind === "failed") {
    const isGone = failure.status === 404 && run.status === 404;
    return isGone ? { ...failure, message: FORGOTTEN } : undefined;
  }
  // Its server cannot say for what: the manifest may.
  if (run.value.status === "interrupted") return { kind: "interrupted", interrupt: undefined };
  return run.value.status === "pending" && isSlow(failure) ? "pending" : undefined;
}

/** It waits longer than the request does, or than something on the way lets it. */
function isSlow({ error, status }: AcpFailure): boolean {
  return error === "upstream_timeout" || status === 504;
}

/** It was answered, and means nothing: asking again and again would not make it mean more. */
function isMeaningless({ error, status = 0 }: AcpFailure): boolean {
  return error === "upstream_malformed_response" || (status >= 200 && status < 400);
}
