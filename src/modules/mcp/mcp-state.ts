/**
 * MCP's state that a process keeps across reloads: tasks, sessions and streams. The library is loaded with the first
 * deployment that serves MCP.
 */
import type { ProcessState } from "../../dispatch/process-state.ts";
import type { RequestStates } from "./contracts/front-contracts.ts";
import type { McpEndpoint } from "./endpoint.ts";
import type { McpFront } from "./front.ts";
import { Audience } from "./listening/audience.ts";
import type { OpenStreams } from "./listening/open-streams.ts";
import type { McpTasks } from "./tasks/task.ts";

export class McpState {
  /** Persistent, beyond the process. */
  readonly tasks: McpTasks;
  readonly states: RequestStates;
  #endpoint: Promise<McpEndpoint> | undefined;
  #audience: Audience | undefined;
  #served: McpFront | undefined;

  constructor(tasks: McpTasks, states: RequestStates) {
    this.tasks = tasks;
    this.states = states;
  }

  /** Opens the endpoint; the first call loads the library. */
  open(serverId: string, streams: OpenStreams, kept: ProcessState): Promise<McpEndpoint> {
    const audience = this.#audienceOf(kept);
    this.#endpoint ??= import("./endpoint.ts").then(
      ({ McpEndpoint }) =>
        new McpEndpoint({ serverId, audience, streams, served: () => this.#served }),
    );
    return this.#endpoint;
  }

  /** The served deployment; undefined before the first. */
  get served(): McpFront | undefined {
    return this.#served;
  }

  /** Sets the served deployment. */
  serve(front: McpFront, kept: ProcessState): void {
    this.#served = front;
    this.#audienceOf(kept).serve(front);
  }

  /** The audience, which follows changes of contracts and of agents' status. */
  #audienceOf(kept: ProcessState): Audience {
    this.#audience ??= this.#gather(kept);
    return this.#audience;
  }

  #gather({ state, work, stopping: { signal } }: ProcessState): Audience {
    const { contracts, lifecycle } = state;
    const audience = new Audience({ work, stopping: signal, now: () => contracts.now() });
    contracts.watch((agentId) => audience.changed(agentId));
    lifecycle.watch((agentId) => audience.changed(agentId));
    // Clients' open streams end once the daemon begins to stop.
    const end = async (): Promise<void> => (await this.#endpoint)?.endStreams();
    signal.addEventListener("abort", () => void end(), { once: true });
    return audience;
  }

  /** Ends every session and answer, once the last request has been answered. */
  async close(): Promise<void> {
    await (await this.#endpoint)?.close();
  }
}
