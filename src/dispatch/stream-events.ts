/**
 * Events in the lifecycle stream of an agent that leave the agent where it stands: what became of
 * its contracts, its sessions and its escalations. Each is the next record of its chain.
 * AGTP-LOG "Local Stream"
 */

import type { Call } from "../handlers/handler.ts";
import type { AgentDirectory } from "../identity/agent-directory.ts";
import { uuidv7 } from "../identity/uuid.ts";
import type { Attributor } from "../state/records/ledger.ts";
import { NO_REQUEST, type RecordFacts } from "../state/records/record.ts";
import type { ServerState } from "../state/state.ts";
import { isStoreUnavailable, StoreUnavailableError } from "../state/store-fault.ts";
import type { ExchangeView } from "./routes/route.ts";

export interface StreamEvent {
  /** In whose stream it is. */
  readonly agentId: string;
  /** Members of the record beside those of every record; `event_type` among them. */
  readonly extension: Readonly<Record<string, unknown>>;
  /** The subject of the event, where no request caused it. */
  readonly about: {
    readonly method: string;
    readonly path: string;
    readonly sessionId?: string | undefined;
    readonly taskId?: string | undefined;
  };
}

/** The request that brought an event about; undefined: the server did it by itself. */
export interface CausingRequest {
  readonly call: Call;
  readonly exchange: ExchangeView;
}

/** Writes events as the next records of their agents' chains, and answers their Audit-IDs. */
export type RecordStreamEvents = (
  events: readonly StreamEvent[],
  cause?: CausingRequest,
) => Promise<readonly string[]>;

export interface EventParts {
  readonly attributor: Attributor;
  readonly state: Pick<ServerState, "ledger" | "lifecycle">;
  /** Knows whose the agents are; throws until it is put together. */
  deployment(): { readonly directory: Pick<AgentDirectory, "find"> };
}

/**
 * Records events, those of one cause together. What they tell of has been done: where a record is not kept, the
 * request that caused it is not answered as if nothing was.
 */
export function createStreamRecorder({
  attributor,
  state: { ledger, lifecycle },
  deployment,
}: EventParts): RecordStreamEvents {
  return async (events, cause) => {
    cause?.exchange.markActed();
    const { directory } = deployment();
    const drafts = events.map((event) => {
      const ownerId = directory.find(event.agentId)?.ownerId ?? "";
      return attributor.chained({ ...eventFacts(event, cause), ownerId });
    });
    await Promise.all(
      drafts.map(async (draft) => {
        await ledger.kept(draft).catch(rethrowUndecided);
        await lifecycle.append(draft);
      }),
    );
    return drafts.map(({ auditId }) => auditId);
  };
}

/** The record of a deed is lost, or nobody can tell; the ledger has told why. */
function rethrowUndecided(error: unknown): never {
  throw isStoreUnavailable(error) ? error : new StoreUnavailableError("undecided", error);
}

function eventFacts(event: StreamEvent, cause: CausingRequest | undefined): RecordFacts {
  return {
    ...NO_REQUEST,
    ...(cause === undefined ? event.about : requestFacts(cause)),
    agentId: event.agentId,
    actionId: uuidv7(),
    status: 200,
    extension: { ...event.extension, ...operatorEntry(cause) },
  };
}

/** An event about a decision says itself who decided. */
function operatorEntry(cause: CausingRequest | undefined): object {
  const operator = cause?.exchange.person;
  return operator === undefined ? {} : { operator };
}

function requestFacts({ call, exchange }: CausingRequest): Partial<RecordFacts> {
  return {
    requestId: call.requestId ?? "",
    responseId: exchange.responseId,
    method: exchange.method,
    requestedMethod: exchange.requestedMethod,
    path: exchange.path,
    sessionId: call.sessionId,
    taskId: call.taskId,
    principalId: call.principalId,
    assurance: exchange.caller.isCertified ? "certificate-bound" : "unverified",
    requestBody: exchange.request.body,
  };
}
