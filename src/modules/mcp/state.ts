/** What MCP clients hold open while the process runs; nothing is loaded before the first may ask. */
import type { McpEndpoint } from "./endpoint.ts";
import type { RequestStates } from "./request-state.ts";
import type { McpTasks } from "./task.ts";

/** The endpoint of a process. */
export class McpState {
  /** Kept while the process runs, and longer. */
  readonly tasks: McpTasks;
  readonly states: RequestStates;
  #endpoint: Promise<McpEndpoint> | undefined;
  #digest: string | undefined;
  #isEnding = false;

  constructor(tasks: McpTasks, states: RequestStates) {
    this.tasks = tasks;
    this.states = states;
  }

  /** The endpoint; the library is loaded with the first deployment that has one. */
  open(serverId: string): Promise<McpEndpoint> {
    this.#endpoint ??= import("./endpoint.ts").then(({ McpEndpoint }) => new McpEndpoint(serverId));
    return this.#endpoint;
  }

  /** Says what is served now, by a digest of it: who listens hears of a change. */
  async announce(digestOf: () => string): Promise<void> {
    const endpoint = await this.#endpoint;
    const before = this.#digest;
    this.#digest = endpoint?.isHeard === true ? digestOf() : undefined;
    if (this.#digest !== undefined && before !== this.#digest) endpoint?.announce();
  }

  /** Ends the streams that clients hold open once the daemon begins to stop. */
  endWith(stopping: AbortSignal): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const end = async (): Promise<void> => (await this.#endpoint)?.endStreams();
    stopping.addEventListener("abort", () => void end(), { once: true });
  }
}
