/** A daemon as its program has it, in one process or in several. */
import type { Problem } from "../base/problem.ts";
import type { Refused } from "./build.ts";

/** A daemon that is listening. */
export interface Daemon {
  readonly address: string;
  readonly port: number;
  /** Undefined: HTTP clients are not served. */
  readonly gatewayPort: number | undefined;
  readonly fingerprint256: string;
  /**
   * Builds a whole new configuration and swaps it in; any problem, and nothing changes. Asked again
   * meanwhile, it does so once more afterwards.
   */
  reload(): Promise<readonly Problem[]>;
  /** Answers what was received, then ends everything. */
  drain(): Promise<void>;
  /** Resolves once it is drained, whoever wanted that. */
  readonly ended: Promise<void>;
  /** 1 where it ended since its store lost what was acknowledged. */
  readonly exitCode: 0 | 1;
}

/** A daemon, or what keeps it from starting. */
export type StartResult = { readonly kind: "started"; readonly daemon: Daemon } | Refused;
