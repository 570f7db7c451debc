/**
 * Events in an agent's lifecycle stream that do not change its status: about its contracts,
 * sessions and escalations. Each is the next record of its chain.   AGTP-LOG "Local Stream"
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
  /** The agent whose stream it belongs to. */
  readonly agentId: string;
  /** The event's own members of the record, including `event_type`. */
  readonly extension: Readonly<Record<string, unknown>>;
  /** The subject of an event that no request caused. */
  readonly about: {
    readonly method: string;
    readonly path: string;
    readonly sessionId?: string | undefined;
    readonly taskId?: string | undefined;
  };
}

/** The request that caused an event; undefined if the server acted by itself. */
export interface CausingRequest {
  readonly call: Call;
  readonly exchange: ExchangeView;
}

/** Writes events as the next records of their agents' chains, and returns their Audit-IDs. */
export type RecordStreamEvents = (
  events: readonly StreamEvent[],
  cause?: CausingRequest,
) => Promise<readonly string[]>;

export interface EventParts {
  readonly attributor: Attributor;
  readonly state: Pick<ServerState, "ledger" | "lifecycle">;
  /** The deployment that knows the agents' owners; throws until it is assembled. */
  deployment(): { readonly directory: Pick<AgentDirectory, "find"> };
}

/**
 * Creates a recorder that writes the events of one cause together. The reported actions are done:
 * if a record is not kept, the causing request must not be answered as if nothing was done.
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

/** Reports a lost or undecided record as an unknown outcome; the ledger has logged the reason. */
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

/** Returns the person who caused an event, as a member of the record. */
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
