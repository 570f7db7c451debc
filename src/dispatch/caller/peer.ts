/** The peer of the connection that a request came on. */
import type { TaskOwner } from "../../base/task-queue.ts";
import type { ClientCertificate } from "../../identity/client-certificate.ts";
import type { Operator } from "../../state/registers/operator.ts";
import type { Caller } from "./caller.ts";

/** The other end. */
export interface Peer {
  readonly address: string;
  readonly port: number;
  /** The agent that an API of this server speaks as: nobody else wrote its Agent-ID. */
  readonly speaksAs?: string;
  /** The API speaks so for anybody who reaches it: no operator has said whom. */
  readonly isAnybody?: boolean;
  /** The scopes that its token narrows it to; undefined: the token says nothing of scopes. */
  readonly scopes?: readonly string[] | undefined;
  /** The peer's certificate, its chain verified. */
  readonly certificate?: ClientCertificate | undefined;
  /** Somebody whom a page of this server signed in. */
  readonly operator?: Operator | undefined;
  /** Why the certificate that the peer presented proves nothing. */
  readonly certificateFault?: string | undefined;
  /** The payer of its last request, and the account. */
  paid?: { readonly caller: Caller; readonly owner: TaskOwner };
  /** How many more bodies are looked at for undeclared members before they are parsed. */
  watched?: number | undefined;
  /** A mark of the last of them. */
  lastUndeclared?: number;
  /** How many more bodies are judged before they are parsed, because one was no JSON. */
  doubted?: number | undefined;
  /** Left here by the log, and looked at by nobody else. */
  logged?: LoggedParts;
  /** Left here by the stamp, and looked at by nobody else. */
  stamped?: StampedLines;
}

/** The parts of a line of the log that are mostly those of the line before on the same connection. */
export interface LoggedParts {
  readonly agentId: string | undefined;
  readonly agent: string;
  /** Up to the Response-ID, where the request has no id. */
  readonly toResponseId: string;
  /** From the end of the Response-ID, where no field is between. */
  readonly remote: string;
}

/** The fields that the answer before echoed; kept where its request only said who asks. */
interface StampedLines {
  readonly caller: Caller;
  readonly standing: string;
  /** Made for the second such request. */
  text: string | undefined;
}
