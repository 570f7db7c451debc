/** The same request on many connections in one moment. */
import { ALMA } from "./approving.ts";
import type { RawClient, TestDaemon } from "./daemon.ts";
import { encodeRequest, type TestReply, type TestRequest } from "./dispatch.ts";
import { refusalOf } from "./waiting.ts";

/** A request of Alma's, unless it says whose it is. */
export function byAlma(request: TestRequest): TestRequest {
  return { ...request, headers: { "Agent-ID": ALMA, ...request.headers } };
}

/** Asks each of the nodes on so many connections; the replies that there are. */
export async function race(
  nodes: readonly Pick<TestDaemon, "connect">[],
  connections: number,
  request: TestRequest,
): Promise<readonly TestReply[]> {
  const open = nodes.flatMap((node) => Array.from({ length: connections }, () => node.connect()));
  const clients: readonly RawClient[] = await Promise.all(open);
  for (const client of clients) client.write(encodeRequest(byAlma(request)));
  const replies = await Promise.all(clients.map(async (client) => (await client.replies(1))[0]));
  for (const client of clients) client.destroy();
  return replies.flatMap((reply) => reply ?? []);
}

/** The codes of those that did not win. */
export function losses(replies: readonly TestReply[]): ReadonlySet<string> {
  const lost = replies.filter(({ status }) => status !== 200);
  return new Set(lost.map((reply) => refusalOf(reply).join(" ")));
}
