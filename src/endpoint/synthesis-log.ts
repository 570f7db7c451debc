/**
 * The `synthesis_log` of a 263: what was considered, chosen and rejected, and why. Whoever reads it
 * pays for the server's memory with nothing, so it is bounded, and so is what it quotes.
 */
import { quoteValue } from "../base/json-value.ts";

/** The sources of plans, in the order in which they are asked. */
export type PlanKind = "recipe" | "passthrough" | "planner";

/** One line of the log. */
export interface LogEntry {
  readonly stage: PlanKind;
  readonly outcome: "considered" | "rejected" | "chosen";
  readonly message: string;
  /** The recipe or endpoint that it is about. */
  readonly recipe?: string;
  readonly method?: string;
  readonly path?: string;
  /** The number of a chosen step, from 1, and where each of its inputs comes from. */
  readonly step?: number;
  readonly inputs?: Readonly<Record<string, string>>;
}

/** The subject of an entry. */
export type LogSubject = Pick<LogEntry, "recipe" | "method" | "path">;

const MAX_ENTRIES = 50;
const MAX_REJECTED = 10;
const MAX_NAMES = 5;

/** Collects a bounded number of entries. */
export class SynthesisLog {
  readonly #entries: LogEntry[] = [];
  readonly #rejected = new Map<PlanKind, number>();

  add(entry: LogEntry): void {
    this.#entries.push(entry);
  }

  considered(stage: PlanKind, message: string): void {
    this.add({ stage, outcome: "considered", message });
  }

  /** Only the first few of a stage are told; the others are counted. */
  rejected(stage: PlanKind, { recipe, method, path }: LogSubject, why: () => string): void {
    const count = (this.#rejected.get(stage) ?? 0) + 1;
    this.#rejected.set(stage, count);
    if (count > MAX_REJECTED) return;
    const subject = {
      ...(recipe === undefined ? {} : { recipe }),
      ...(method === undefined ? {} : { method }),
      ...(path === undefined ? {} : { path }),
    };
    this.add({ stage, outcome: "rejected", message: why(), ...subject });
  }

  /** At most fifty entries, the last of which counts what was left out. */
  entries(): readonly LogEntry[] {
    const all = [...this.#entries];
    for (const [stage, count] of this.#rejected) {
      if (count <= MAX_REJECTED) continue;
      const message = `${count - MAX_REJECTED} more were rejected`;
      all.push({ stage, outcome: "rejected", message });
    }
    const last = all.at(-1);
    if (all.length <= MAX_ENTRIES || last === undefined) return all;
    const message = `${all.length - MAX_ENTRIES + 1} more entries were left out`;
    return [
      ...all.slice(0, MAX_ENTRIES - 1),
      { stage: last.stage, outcome: "considered", message },
    ];
  }
}

/** Names as a message lists them: quoted, and only the first few. */
export function quoteNames(names: readonly string[]): string {
  const quoted = names.slice(0, MAX_NAMES).map(quoteValue).join(", ");
  return names.length > MAX_NAMES ? `${quoted} and ${names.length - MAX_NAMES} more` : quoted;
}
