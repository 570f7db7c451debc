/**
 * The parts of MCP that a process keeps through every reload: tasks, sessions and streams. The library is
 * loaded with the first deployment that serves MCP.
 */
import type { ProcessState } from "../../dispatch/process-state.ts";
import type { RequestStates } from "./contracts/front-contracts.ts";
import type { McpEndpoint } from "./endpoint.ts";
import type { McpFront } from "./front.ts";
import { Audience } from "./listening/audience.ts";
import type { OpenStreams } from "./listening/open-streams.ts";
import type { McpTasks } from "./tasks/task.ts";

export class McpState {
  /** Kept while the process runs, and longer. */
  readonly tasks: McpTasks;
  readonly states: RequestStates;
  #endpoint: Promise<McpEndpoint> | undefined;
  #audience: Audience | undefined;
  #served: McpFront | undefined;

  constructor(tasks: McpTasks, states: RequestStates) {
    this.tasks = tasks;
    this.states = states;
  }

  /** The endpoint; the library is loaded with the first deployment that has one. */
  open(serverId: string, streams: OpenStreams, kept: ProcessState): Promise<McpEndpoint> {
    const audience = this.#audienceOf(kept);
    this.#endpoint ??= import("./endpoint.ts").then(
      ({ McpEndpoint }) =>
        new McpEndpoint({ serverId, audience, streams, served: () => this.#served }),
    );
    return this.#endpoint;
  }

  /** The deployment that is served; undefined: none has been yet. */
  get served(): McpFront | undefined {
    return this.#served;
  }

  /** This deployment is served from now on. */
  serve(front: McpFront, kept: ProcessState): void {
    this.#served = front;
    this.#audienceOf(kept).serve(front);
  }

  /** The listeners to changes, of what each agent has and of where it stands. */
  #audienceOf(kept: ProcessState): Audience {
    this.#audience ??= this.#gather(kept);
    return this.#audience;
  }

  #gather({ state, work, stopping: { signal } }: ProcessState): Audience {
    const { contracts, lifecycle } = state;
    const audience = new Audience({ work, stopping: signal, now: () => contracts.now() });
    contracts.watch((agentId) => audience.changed(agentId));
    lifecycle.watch((agentId) => audience.changed(agentId));
    // The streams that clients hold open end once the daemon begins to stop.
    const end = async (): Promise<void> => (await this.#endpoint)?.endStreams();
    signal.addEventListener("abort", () => void end(), { once: true });
    return audience;
  }

  /** Ends every session and every answer: the last request that anybody waits for is over. */
  async close(): Promise<void> {
    await (await this.#endpoint)?.close();
  }
}
