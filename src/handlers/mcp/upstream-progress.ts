/**
 * Progress of an MCP server's call, as its caller hears of it: bounded in length and in rate, growing
 * as the protocol says, without the secrets that a server may say again.   MCP "Progress"
 */
import type { JsonRecord } from "../../base/json-value.ts";
import type { UpstreamProgress } from "../call-upstream.ts";
import type { Secrets } from "./secrets.ts";

const MAX_MESSAGE = 256;
const LEAST_GAP_MS = 100;
/** However long a call takes, its caller hears of it so often at most. */
const MOST = 1_000;

/** Hands on what is progress, and no more of it than somebody can read. */
export function progressReader(
  tell: (progress: UpstreamProgress) => void,
  secrets: Secrets,
  now: () => number = () => performance.now(),
): (progress: JsonRecord) => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  let count = 0;
  return ({ progress, total, message }) => {
    if (typeof progress !== "number" || !(progress > last)) return;
    const isEnd = typeof total === "number" && progress >= total;
    if (count >= MOST || (!isEnd && now() - toldAt < LEAST_GAP_MS)) return;
    [toldAt, last, count] = [now(), progress, count + 1];
    tell({
      progress,
      ...(typeof total === "number" && Number.isFinite(total) ? { total } : {}),
      ...(typeof message === "string"
        ? { message: secrets.conceal(message).slice(0, MAX_MESSAGE) }
        : {}),
    });
  };
}
