/** How a node is, in figures: what its operator watches. */

export interface StoreCounts {
  commits: number;
  conflicts: number;
  records: number;
  /** Records whose chains another node had moved. */
  recordsAgain: number;
}

export interface NodeFigures extends Readonly<StoreCounts> {
  /** The rest of the lease by which it serves. */
  readonly leaseMs: number;
  /** Since everything that others had changed was taken in. */
  readonly viewAgeMs: number;
  /** Since the store heard of it. */
  readonly heartbeatAgeMs: number;
}
