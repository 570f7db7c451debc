/**
 * The way to the server that has the models: HTTP, to the one URL that the operator configured and
 * no other. Redirects are not followed, silence is not waited for, and what is not wanted any more
 * is not received.
 */
import type { Agent } from "undici";
import { FairSlots } from "../../../base/fair-shares.ts";
import { loadLate } from "../../../base/late-load.ts";
import { connectionOptions } from "../../../handlers/connection-options.ts";
import type { ModelResponse, ModelServer } from "./model-server.ts";

/** The address of the models. */
interface ModelConnectionOptions {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  /** PEM text to trust instead of the system's authorities. */
  readonly ca: string | undefined;
  /** The longest that it may say nothing. */
  readonly timeoutMs: number;
}

const CONNECT_TIMEOUT_MS = 5_000;
const MAX_CONNECTIONS = 32;
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Connects to nothing before it is asked. */
export function createModelConnection(options: ModelConnectionOptions): ModelServer {
  const agent = loadLate(() => openAgent(options));
  const slots = new FairSlots(MAX_CONNECTIONS);
  return {
    prepare: () => agent.prepare(),
    async ask(body, { owner, signal }) {
      const connected = await agent();
      const release = await slots.take(owner, signal);
      try {
        return await post(connected, options, { body, signal, onEnd: release });
      } catch (error) {
        release();
        throw error;
      }
    },
    async close() {
      await (await agent.begun?.catch(() => undefined))?.destroy();
    },
  };
}

/** The HTTP client takes long to load: a start does not wait for it. */
async function openAgent({ timeoutMs, ca }: ModelConnectionOptions): Promise<Agent> {
  const undici = await import("undici");
  return new undici.Agent({
    ...connectionOptions({
      connections: MAX_CONNECTIONS,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      ca,
    }),
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
}

interface Posting {
  readonly body: string;
  readonly signal: AbortSignal;
  /** Called when nothing more of the answer comes. */
  onEnd(): void;
}

async function post(
  agent: Agent,
  { baseUrl, apiKey }: ModelConnectionOptions,
  { body, signal, onEnd }: Posting,
): Promise<ModelResponse> {
  const { origin, pathname, search } = new URL(`${baseUrl}/chat/completions`);
  const {
    statusCode,
    headers,
    body: stream,
  } = await agent.request({
    ...{ origin, path: `${pathname}${search}`, method: "POST", body, signal },
    headers: {
      accept: "application/json, text/event-stream",
      "accept-encoding": "identity",
      "content-type": "application/json",
      "user-agent": "agtpd",
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    },
  });
  // A body that is given up fails once more when it ends, with nobody left to be told.
  stream.on("error", () => undefined);
  stream.once("close", onEnd);
  return {
    status: statusCode,
    retryAfterMs: readRetryAfter(headers["retry-after"]),
    isEventStream: /^text\/event-stream\b/i.test(String(headers["content-type"] ?? "")),
    body: stream,
    discard: () => stream.destroy(),
  };
}

/** Seconds, or a date.   RFC 9110 §10.2.3 */
function readRetryAfter(value: string | readonly string[] | undefined): number | undefined {
  if (typeof value !== "string") return undefined;
  const waitMs = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS);
}
