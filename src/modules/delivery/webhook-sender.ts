/**
 * Sends webhook messages over HTTPS, signed and within a few seconds, only to configured URLs. Redirects are not
 * followed, and only the status of the response counts.
 */

import { createHmac } from "node:crypto";
import { within } from "../../base/deadline.ts";
import { codeOf, reasonOf } from "../../base/thrown.ts";
import { createHttpClient, type HttpClient } from "../../handlers/connection-options.ts";
import type { SendWebhook, WebhookAttempt } from "./webhook-courier.ts";
import { type AttemptOutcome, NO_SUCH_URL } from "./webhook-delivery.ts";

/** The allowed destinations, the signing secret and the trusted CAs. */
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
  /** Loads the HTTP client ahead of its first use. */
  prepare(): void;
  close(): Promise<void>;
}

const TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 65_536;
const MAX_CONNECTIONS = 4;

/** Creates a sender, which connects at the first message. */
export function createWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const { urls, ca } = options;
  const needs = { connections: MAX_CONNECTIONS, connectTimeoutMs: CONNECT_TIMEOUT_MS, ca };
  const client = createHttpClient(needs);
  return {
    prepare() {
      if (urls.size > 0) client.prepare();
    },
    async send(attempt) {
      if (!urls.has(attempt.url)) return failed(NO_SUCH_URL);
      try {
        return await post(attempt, client, options);
      } catch (error) {
        const isLate = error instanceof Error && error.name === "TimeoutError";
        const reason = isLate ? "did not answer in time" : "could not be reached";
        return failed(reason, `${codeOf(error)} ${reasonOf(error)}`.trim());
      }
    },
    close: () => client.close(),
  };
}

function post(
  attempt: WebhookAttempt,
  client: HttpClient,
  options: WebhookSenderOptions,
): Promise<AttemptOutcome> {
  const ends = { signals: [attempt.signal], timeoutMs: TIMEOUT_MS };
  return within(ends, (signal) => postNow({ ...attempt, signal }, client, options));
}

async function postNow(
  { id, url, body, signal }: WebhookAttempt,
  client: HttpClient,
  { serverId, secret }: WebhookSenderOptions,
): Promise<AttemptOutcome> {
  const text = JSON.stringify(body);
  const answer = await client.request(url, {
    ...{ method: "POST", body: text, signal },
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

/** The value of the `agtp-signature` header field. */
export function webhookSignature({ secret, timestamp, body }: SignedRequest): string {
  const mac = createHmac("sha256", secret).update(`${timestamp}.${body}`, "utf8").digest("hex");
  return `t=${timestamp},v1=${mac}`;
}
