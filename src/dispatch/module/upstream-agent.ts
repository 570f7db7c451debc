/** Agents elsewhere that a deployment calls, as operators are shown them; keys are the wire's own. */

/** An agent elsewhere that endpoints call. */
export interface UpstreamAgent {
  readonly name: string;
  readonly version: string;
  /** The path that it is served on. */
  readonly base: string;
  /** The address of its server; null for one that cannot be called. */
  readonly url: string | null;
  /**
   * `ready`: its server has it. `unavailable`: it has not, or does not answer. `unchecked`: nobody has
   * looked yet. `declared`: it runs nowhere that is known.
   */
  readonly state: "ready" | "unavailable" | "unchecked" | "declared";
  /** Why it cannot be called. */
  readonly reason?: string;
  readonly dependencies: readonly UpstreamDependency[];
}

/** Another agent that it depends on. */
export interface UpstreamDependency {
  readonly name: string;
  readonly status: string;
  readonly reason?: string;
}
