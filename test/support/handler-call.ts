/** A call as the dispatcher would make it, for tests of handlers on their own. */
import type { Call, DispatchResult } from "../../src/handlers/handler.ts";

/** One `call.dispatch` that a test answered. */
export interface Dispatched {
  readonly method: string;
  readonly path: string;
  readonly input: Readonly<Record<string, unknown>> | undefined;
}

type Answer = (
  dispatched: Dispatched,
) => Partial<DispatchResult> | Promise<Partial<DispatchResult>>;

/** What a test may choose about its call. */
export interface CallOptions {
  readonly input?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
  readonly answer?: Answer;
}

/** A call that records what it is asked to dispatch and to log. */
export interface TestCall extends Call {
  readonly dispatched: readonly Dispatched[];
  readonly logged: readonly object[];
}

export function makeCall({ input = {}, signal, answer }: CallOptions = {}): TestCall {
  const dispatched: Dispatched[] = [];
  const logged: object[] = [];
  const log = (fields: object): void => {
    logged.push(fields);
  };
  return {
    input,
    method: "BOOK",
    path: "/room",
    requestedMethod: undefined,
    query: {},
    headers: { "agent-id": "a".repeat(64), authorization: "Bearer caller" },
    agentId: "a".repeat(64),
    ownerId: "owner-of-the-caller",
    principalId: "principal-of-the-caller",
    scopes: [],
    trustTier: 2,
    sessionId: undefined,
    taskId: undefined,
    requestId: undefined,
    signal: signal ?? new AbortController().signal,
    log: { debug: log, info: log, warn: log, error: log },
    dispatched,
    logged,
    async dispatch(method, path, value) {
      dispatched.push({ method, path, input: value });
      const result = await answer?.({ method, path, input: value });
      return { status: 200, headers: {}, body: undefined, ...result };
    },
  };
}
