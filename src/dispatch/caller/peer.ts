/** The peer of the connection that a request came on. */
import type { TaskOwner } from "../../base/task-queue.ts";
import type { ClientCertificate } from "../../identity/client-certificate.ts";
import type { Operator } from "../../state/registers/operator.ts";
import type { Caller } from "./caller.ts";

/** The other end of the connection. */
export interface Peer {
  readonly address: string;
  readonly port: number;
  /** The agent that an API of this server speaks as; no client wrote this Agent-ID. */
  readonly speaksAs?: string;
  /** True if the API speaks so for anybody who reaches it, since the operator named nobody. */
  readonly isAnybody?: boolean;
  /** The scopes that its token narrows it to; undefined if the token names none. */
  readonly scopes?: readonly string[] | undefined;
  /** The peer's certificate, with a verified chain. */
  readonly certificate?: ClientCertificate | undefined;
  /** The operator, if a page of this server signed one in. */
  readonly operator?: Operator | undefined;
  /** The reason why the certificate that the peer presented proves nothing. */
  readonly certificateFault?: string | undefined;
  /** The caller of its last request, and the account that paid for it. */
  paid?: { readonly caller: Caller; readonly owner: TaskOwner };
  /** The number of further bodies to scan for undeclared members before parsing. */
  watched?: number | undefined;
  /** A hash of the last undeclared member's name. */
  lastUndeclared?: number;
  /** The number of further bodies to validate before parsing, after one that was not JSON. */
  doubted?: number | undefined;
  /** Owned by the log. */
  logged?: LoggedParts;
  /** Owned by the stamp. */
  stamped?: StampedLines;
}

/** The parts of a log line that usually repeat from line to line of a connection. */
export interface LoggedParts {
  readonly agentId: string | undefined;
  readonly agent: string;
  /** The line up to the Response-ID, for a request without an id. */
  readonly toResponseId: string;
  /** The line after the Response-ID, if no other field is between. */
  readonly remote: string;
}

/** The echoed fields of the previous answer, kept if its request only named its caller. */
interface StampedLines {
  readonly caller: Caller;
  readonly standing: string;
  /** The lines as text, made for the second such request. */
  text: string | undefined;
}
