/**
 * Streams that clients hold open. Each caller is checked again every few seconds, and whenever a deployment is served:
 * a stream whose token has expired or was revoked ends, and its client reconnects with another.   RFC 6750 §3.1, MCP
 * "Authorization"
 */
import type { McpCaller, McpFront } from "../front.ts";
import { isAdmitted } from "../identify.ts";

interface OpenStream {
  /** The client of the latest request. */
  caller(): McpCaller;
  end(): void;
}

/** Longest time for which a stream outlives its token, in milliseconds. */
const LOOK_MS = 5_000;

export class OpenStreams {
  readonly #open = new Set<OpenStream>();
  #front: McpFront | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Sets the served deployment; undefined if MCP is not served. */
  serve(front: McpFront | undefined): void {
    this.#front = front;
    this.#look();
  }

  /** Adds a stream, and returns a function that removes it. */
  add(stream: OpenStream): () => void {
    this.#open.add(stream);
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS);
    this.#timer.unref();
    return () => {
      this.#open.delete(stream);
      if (this.#open.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  #look(): void {
    const front = this.#front;
    void this.#endOthers(front).catch((error: unknown) => front?.reportFault(error, "streams"));
  }

  /** One after the other, since a verifier has a bounded number of tokens at a time. */
  async #endOthers(front: McpFront | undefined): Promise<void> {
    for (const stream of this.#open) {
      if (front === undefined || !(await isAdmitted(front, stream.caller()))) stream.end();
    }
  }
}
