/**
 * One ACP server, as requests reach it: what is answered at once over short connections, what waits for
 * an agent over long ones, lists as long as may be had, and streams.
 */
import {
  type AcpAnswer,
  type AcpConnection,
  type AcpFailure,
  type AcpRequest,
  type AcpResponse,
  callAcp,
  discard,
  isFailure,
  malformed,
  openAcp,
} from "./acp-call.ts";
import { type CredentialShield, shieldCredentials } from "./credential-shield.ts";

/** The two ways to one server: calls that wait must not keep others from their turn. */
export interface AcpConnections {
  readonly short: AcpConnection;
  readonly long: AcpConnection;
}

/** The longest that calls may take which do not wait for an agent. */
const CALL_TIMEOUT_MS = 10_000;
/** The length of a list that is asked for: left to itself a server lists ten. */
const LONG_LIST = 100;

export class AcpServer {
  readonly #short: AcpConnection;
  readonly #long: AcpConnection;
  /** For what is read of a stream; answers have been through it. */
  readonly shield: CredentialShield;
  #takesNoLimit = false;

  constructor({ short, long }: AcpConnections) {
    this.#short = short;
    this.#long = long;
    this.shield = shieldCredentials(long.headers);
  }

  get(path: string, signal: AbortSignal): Promise<AcpAnswer> {
    return callAcp(this.#short, { method: "GET", path, timeoutMs: CALL_TIMEOUT_MS, signal });
  }

  /** Posts a body; undefined: none. */
  post(path: string, body: unknown, signal: AbortSignal): Promise<AcpAnswer> {
    const call = { method: "POST", path, timeoutMs: CALL_TIMEOUT_MS, signal } as const;
    return callAcp(this.#short, body === undefined ? call : { ...call, body });
  }

  /** Makes a call that waits for an agent. */
  wait(call: AcpRequest): Promise<AcpAnswer> {
    return callAcp(this.#long, call);
  }

  /** A list; a server that takes no parameters is asked without from then on. */
  async list(path: string, signal: AbortSignal): Promise<AcpAnswer> {
    if (!this.#takesNoLimit) {
      const answer = await this.get(`${path}?limit=${LONG_LIST}`, signal);
      if (answer.kind !== "failed" || !isRefused(answer)) return answer;
    }
    const answer = await this.get(path, signal);
    // It may have been something else that it did not like.
    if (answer.kind === "answered") this.#takesNoLimit = true;
    return answer;
  }

  /** A stream as it begins; anything but one is a failure. */
  async stream(call: AcpRequest): Promise<AcpResponse | AcpFailure> {
    const response = await openAcp(this.#long, call);
    if (isFailure(response)) return response;
    const isStream = /^text\/event-stream\b/i.test(String(response.headers["content-type"] ?? ""));
    if (response.statusCode === 200 && isStream) return response;
    discard(response);
    return malformed("is no event stream", response.statusCode);
  }
}

/** The server does not like how it was asked. */
function isRefused({ status }: AcpFailure): boolean {
  return status === 400 || status === 422;
}
