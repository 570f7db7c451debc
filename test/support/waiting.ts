/** A server whose agents escalate, wait and come back, in the words of its tests. */
import type { Peer } from "../../src/dispatch/caller/peer.ts";
import type { TestReply, TestRequest, TestServer } from "./dispatch.ts";

/** Something that answers requests of agents. */
export type Answering = Pick<TestServer, "send">;

/** Asks as an agent, or as nobody, over the connection of a peer. */
export function askAs(
  server: Answering,
  agentId: string | undefined,
  request: TestRequest,
  peer: Partial<Peer> = {},
): Promise<TestReply> {
  const identity = agentId === undefined ? {} : { "Agent-ID": agentId };
  return server.send({ ...request, headers: { ...identity, ...request.headers } }, peer);
}

/** ESCALATE of a task. */
export function escalation(taskId: string, changes: object = {}): TestRequest {
  const asked = { task_id: taskId, reason: "scope_limit", context: { question: "may I?" } };
  return { method: "ESCALATE", body: { ...asked, ...changes } };
}

/** CONFIRM of an escalation. */
export function confirmation(id: string, status: string, more: object = {}): TestRequest {
  return { method: "CONFIRM", body: { target_id: id, status, ...more } };
}

/** A call that is a part of a task. */
export function callIn(taskId: string): TestRequest {
  return {
    method: "QUERY",
    path: "/facts",
    headers: { "Task-ID": taskId },
    body: { subject: "barn" },
  };
}

/** A call in a session. */
export function callWithin(sessionId: string): TestRequest {
  const headers = { "Session-ID": sessionId };
  return { method: "QUERY", path: "/facts", headers, body: { subject: "barn" } };
}

/** SUSPEND of a session. */
export function suspension(sessionId: string, changes: object = {}): TestRequest {
  const asked = { session_id: sessionId, reason: "awaiting_input", checkpoint: { step: 3 } };
  return { method: "SUSPEND", body: { ...asked, ...changes } };
}

/** RESUME by a nonce. */
export function resumption(nonce: string, more: object = {}): TestRequest {
  return { method: "RESUME", body: { resumption_nonce: nonce, ...more } };
}

/** A member of the `result` of a floor method, as text. */
export function resultOf({ body }: TestReply, member: string): string {
  return String(body["result"]?.[member]);
}

/** Status and error code. */
export function refusalOf({ status, body }: TestReply): readonly unknown[] {
  return [status, body["error"]?.["code"]];
}
