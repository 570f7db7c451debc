/** Determines the size of a server's responses before a load. */
import type { Contender } from "./measure.ts";
import { openSocket, type Place } from "./open-socket.ts";
import type { ServerProcess } from "./server-process.ts";

const BLANK_LINE = "\r\n\r\n";

/** Sends the first request twice in sequence, because a connection's first response may be longer than later ones. */
export function aimAt(
  server: ServerProcess,
  ca: string,
  start: string,
  requests: readonly Buffer[],
): Promise<Contender> {
  return aimAtPort(server, { port: server.port, ca }, { start, requests });
}

/** Does the same for another port of a server. */
export async function aimAtPort(
  server: ServerProcess,
  place: Place,
  { start, requests }: { readonly start: string; readonly requests: readonly Buffer[] },
): Promise<Contender> {
  const [firstResponseBytes, responseBytes] = await measureResponses(place, {
    start,
    request: requests[0] ?? Buffer.alloc(0),
  });
  const responses = { start, firstResponseBytes, responseBytes };
  return { server, target: { ...place, requests, ...responses } };
}

async function measureResponses(
  place: Place,
  { start, request }: { readonly start: string; readonly request: Buffer },
): Promise<readonly [number, number]> {
  const socket = openSocket(place, () => socket.write(request));
  try {
    let received = "";
    let first: number | undefined;
    for await (const chunk of socket.setEncoding("latin1")) {
      received += chunk;
      const bytes = responseLength(received);
      if (bytes === undefined || received.length < bytes) continue;
      if (!received.startsWith(start)) break;
      if (first !== undefined) return [first, bytes];
      first = bytes;
      received = received.slice(bytes);
      socket.write(request);
    }
    // The server closed the connection after its only response.
    if (first !== undefined) return [first, first];
    throw new Error(`expected "${start}", got "${received}"`);
  } finally {
    socket.destroy();
  }
}

/** The length of a response in octets, from its head. */
function responseLength(received: string): number | undefined {
  const headEnd = received.indexOf(BLANK_LINE);
  if (headEnd < 0) return undefined;
  const length = /^content-length: *(\d+)/im.exec(received.slice(0, headEnd));
  return length === null ? undefined : headEnd + BLANK_LINE.length + Number(length[1]);
}
