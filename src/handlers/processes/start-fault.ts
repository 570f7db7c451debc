/** Why a process could not be started, and how it can be mended. */
import type { OfferedFunctions, ProcessSession } from "./process-session.ts";

/** The reason, as it follows the name of the process. */
export interface StartFault {
  readonly message: string;
  readonly hint?: string;
}

const MAX_WORDS = 200;
const MAX_HINT = 600;
const SERVES =
  "it has to say hello, and to serve until its standard input ends; in Python, run() has to be called";

/** The fault of a process that was over before its hello: it has most often said why. */
export function startFault(
  reason: string,
  { lastLines }: Pick<ProcessSession, "lastLines">,
): StartFault {
  const last = lastLines.at(-1);
  if (last === undefined) {
    return reason === "ended with code 0"
      ? { message: `${reason} before its hello`, hint: SERVES }
      : { message: reason };
  }
  const message = `${reason}: ${last.trim().slice(0, MAX_WORDS)}`;
  if (lastLines.length === 1) return { message };
  const before = lastLines.slice(0, -1).map((line) => line.trim());
  return { message, hint: `it wrote before: ${before.join(" | ").slice(-MAX_HINT)}` };
}

/** Tells it from the functions of a process that was started. */
export function isStartFault(outcome: OfferedFunctions | StartFault): outcome is StartFault {
  return "message" in outcome;
}
