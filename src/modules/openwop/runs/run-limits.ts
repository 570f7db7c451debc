/** The limits of runs; those that are advertised are enforced here. */

/** Bounds of a deployment. */
export interface RunLimits {
  /** Runs that are executed at once; others are pending. */
  readonly concurrent: number;
  /** Runs of one owner that are not over. */
  readonly unfinishedPerOwner: number;
  /** Runs of one owner that are kept; the oldest that is over goes first. */
  readonly perOwner: number;
  /** Runs of everybody that are kept. */
  readonly all: number;
  readonly eventsPerRun: number;
  /** Octets of all events of a run. */
  readonly bytesPerRun: number;
  /** The deepest that sub-workflows may be nested. */
  readonly depth: number;
  /** Runs that one run may begin, at any depth. */
  readonly perTree: number;
  /** The most times that one loop of a run is taken. */
  readonly loopIterations: number;
  /** The longest that a run is executed; waiting for an answer does not count. */
  readonly durationMs: number;
  /** The time after which a run that is over is forgotten. */
  readonly retentionMs: number;
}

/** Nodes that one run executes at most; a definition has no more. */
export const MAX_NODE_EXECUTIONS = 256;
/** The shortest `runTimeoutMs`. */
export const MIN_DURATION_MS = 1000;
