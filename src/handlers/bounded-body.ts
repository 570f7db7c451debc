/** Reads the body of an upstream's response, and no more of it than was agreed. */
import type { Dispatcher } from "undici";

/** The whole body, or undefined when it is too long; the rest is then never received. */
export async function readBoundedBody(
  limit: number,
  { body, headers }: Pick<Dispatcher.ResponseData, "body" | "headers">,
): Promise<Buffer | undefined> {
  const announced = Number(headers["content-length"] ?? 0);
  if (announced > limit) {
    body.destroy();
    return undefined;
  }
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    // Leaving the loop destroys the body, and the connection with it.
    if (length > limit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}
