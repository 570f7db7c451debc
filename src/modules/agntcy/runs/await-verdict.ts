/**
 * Waits for a server's verdict on a run with repeated calls. An `error` is not final at first: the server retries
 * failed runs, and may then report a success.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Verdict } from "../acp/acp-answers.ts";
import type { AcpFailure } from "../acp/acp-call.ts";
import type { AcpClient, RunAddress } from "../acp/acp-client.ts";

/** The message for a run that its server has lost. */
export const FORGOTTEN = "the upstream knows nothing of the run any more";

/** Unreadable answers that are retried, as they may have been cut in transit. */
const MEANINGLESS_LOOKS = 2;

/** The duration of one waiting request. */
export const WAIT_MS = 30_000;
/** The pause after an answer without a verdict. */
export const PENDING_MS = 500;
/** The pauses after each `error`; the next one is final. */
const ERRORS_MS: readonly number[] = [300, 700, 1500];
/** The pauses after each failed call; then the server is given up. */
export const FAILURES_MS: readonly number[] = [200, 400, 800, 1600, 3200];

/** A verdict, or the last failure. */
type FinalVerdict = Exclude<Verdict, { readonly kind: "pending" }> | AcpFailure;

/** Waits for the verdict; rejects if the signal is aborted. */
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

/** Asks for the run's status if waiting failed. */
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
  // The interrupt is unknown here, but the manifest may have only one.
  if (run.value.status === "interrupted") return { kind: "interrupted", interrupt: undefined };
  return run.value.status === "pending" && isSlow(failure) ? "pending" : undefined;
}

/** Tells whether the run takes longer than the request, or a proxy, allows. */
function isSlow({ error, status }: AcpFailure): boolean {
  return error === "upstream_timeout" || status === 504;
}

/** Tells whether an answer is unreadable, which repeating will not change. */
function isMeaningless({ error, status = 0 }: AcpFailure): boolean {
  return error === "upstream_malformed_response" || (status >= 200 && status < 400);
}
