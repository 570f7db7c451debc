/**
 * Sends webhook messages over HTTPS: signed, within a few seconds, to URLs of the configuration and
 * no other. Redirects are not followed, and nothing of the answer is believed but its status.
 */

import { createHmac } from "node:crypto";
import type { Agent } from "undici";
import { within } from "../../base/deadline.ts";
import { loadLate } from "../../base/late-load.ts";
import { codeOf, reasonOf } from "../../base/thrown.ts";
import { connectionOptions, limitInterim } from "../../handlers/connection-options.ts";
import type { SendWebhook, WebhookAttempt } from "./webhook-courier.ts";
import { type AttemptOutcome, NO_SUCH_URL } from "./webhook-delivery.ts";

/** The destinations that messages may go to, and the keys that vouch for both sides. */
export interface WebhookSenderOptions {
  readonly urls: ReadonlySet<string>;
  readonly serverId: string;
  /** Undefined: requests are not signed. */
  readonly secret: string | undefined;
  /** PEM text to trust instead of the system's CAs. */
  readonly ca: string | undefined;
}

interface WebhookSender {
  readonly send: SendWebhook;
  /** Loads what sending takes, while nobody waits for it. */
  prepare(): void;
  close(): Promise<void>;
}

const TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 65_536;
const MAX_CONNECTIONS = 4;

/** Connects to nothing before there is something to send. */
export function createWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const { urls, ca } = options;
  const agent = loadLate(() => openAgent(ca));
  return {
    prepare() {
      if (urls.size > 0) agent.prepare();
    },
    async send(attempt) {
      if (!urls.has(attempt.url)) return failed(NO_SUCH_URL);
      try {
        return await post(attempt, await agent(), options);
      } catch (error) {
        const isLate = error instanceof Error && error.name === "TimeoutError";
        const reason = isLate ? "did not answer in time" : "could not be reached";
        return failed(reason, `${codeOf(error)} ${reasonOf(error)}`.trim());
      }
    },
    async close() {
      await (await agent.begun?.catch(() => undefined))?.destroy();
    },
  };
}

/** The HTTP client takes long to load: a start does not wait for it. */
async function openAgent(ca: string | undefined): Promise<Agent> {
  const undici = await import("undici");
  const needs = { connections: MAX_CONNECTIONS, connectTimeoutMs: CONNECT_TIMEOUT_MS, ca };
  return new undici.Agent(connectionOptions(needs));
}

function post(
  attempt: WebhookAttempt,
  agent: Agent,
  options: WebhookSenderOptions,
): Promise<AttemptOutcome> {
  const ends = { signals: [attempt.signal], timeoutMs: TIMEOUT_MS };
  return within(ends, (signal) => postNow({ ...attempt, signal }, agent, options));
}

async function postNow(
  { id, url, body, signal }: WebhookAttempt,
  agent: Agent,
  { serverId, secret }: WebhookSenderOptions,
): Promise<AttemptOutcome> {
  const { origin, pathname, search } = new URL(url);
  const text = JSON.stringify(body);
  const answer = await agent.request({
    ...{ origin, path: `${pathname}${search}`, method: "POST", body: text },
    ...{ signal, onInfo: limitInterim() },
    headers: {
      accept: "application/json",
      "accept-encoding": "identity",
      "content-type": "application/json",
      "user-agent": "agtpd",
      "agtp-server-id": serverId,
      "agtp-delivery-id": id,
      ...signatureOf(text, secret),
    },
  });
  // A body that is given up fails once more when it ends, with nobody left to be told.
  answer.body.on("error", () => undefined);
  const { statusCode } = answer;
  await answer.body.dump({ limit: MAX_ANSWER_BYTES }).catch(() => undefined);
  if (statusCode >= 200 && statusCode < 300) return { kind: "taken" };
  return failed(`answered with status ${statusCode}`);
}

function signatureOf(body: string, secret: string | undefined): Readonly<Record<string, string>> {
  if (secret === undefined) return {};
  const timestamp = Math.floor(Date.now() / 1000);
  return { "agtp-signature": webhookSignature({ secret, timestamp, body }) };
}

function failed(reason: string, detail?: string): AttemptOutcome {
  return { kind: "failed", reason, ...(detail === undefined ? {} : { detail }) };
}

interface SignedRequest {
  readonly secret: string;
  /** Seconds since the epoch. */
  readonly timestamp: number;
  readonly body: string;
}

/** The value of the header field. */
export function webhookSignature({ secret, timestamp, body }: SignedRequest): string {
  const mac = createHmac("sha256", secret).update(`${timestamp}.${body}`, "utf8").digest("hex");
  return `t=${timestamp},v1=${mac}`;
}
