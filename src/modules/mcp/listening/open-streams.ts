/**
 * Streams that clients hold open, which last as long as their callers would be let in: each is looked
 * at every few seconds, and whenever another deployment is served. One whose token has expired or was
 * taken back ends, and its client comes back with another.   RFC 6750 §3.1, MCP "Authorization"
 */
import type { McpCaller, McpFront } from "../front.ts";
import { isAdmitted } from "../identify.ts";

interface OpenStream {
  /** The client, as it asked last. */
  caller(): McpCaller;
  end(): void;
}

/** A token is believed for as long at most once it does not hold any more. */
const LOOK_MS = 5_000;

export class OpenStreams {
  readonly #open = new Set<OpenStream>();
  #front: McpFront | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** This deployment is served from now on; undefined: none that has MCP. */
  serve(front: McpFront | undefined): void {
    this.#front = front;
    this.#look();
  }

  /** Adds one, and answers how it is taken out. */
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

  /** One after the other: a verifier has only so many tokens at a time. */
  async #endOthers(front: McpFront | undefined): Promise<void> {
    for (const stream of this.#open) {
      if (front === undefined || !(await isAdmitted(front, stream.caller()))) stream.end();
    }
  }
}
