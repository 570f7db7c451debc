/**
 * Opens the runs of a kind, with their log and those who hear of them: what an earlier process kept is
 * there, and what nobody needs any more is deleted.
 */
import { Collection } from "../state/collection.ts";
import { type Holders, SOLE_HOLDER } from "../state/holders.ts";
import type { Change, Store } from "../state/store.ts";
import { EventLog } from "./event-log.ts";
import type { NumberedEvent, RunKind } from "./run-kind.ts";
import { RunNews } from "./run-news.ts";

/** The parts that tests choose. */
export interface RunRegisterOptions {
  /** Milliseconds since the epoch. */
  now?(): number;
  /** Whose runs are whose; without it, all are this process's. */
  readonly holders?: Holders;
}

/** The parts of an open register. */
export interface RegisterParts<Run extends object, Event extends NumberedEvent> {
  readonly kind: RunKind<Run>;
  readonly runs: Collection<Run>;
  readonly log: EventLog<Event> | undefined;
  readonly news: RunNews<Run>;
  readonly holders: Holders;
}

/** Opens them. */
export async function openParts<Run extends object, Event extends NumberedEvent = NumberedEvent>(
  store: Store,
  kind: RunKind<Run>,
  { now = Date.now, holders = SOLE_HOLDER }: RunRegisterOptions = {},
): Promise<RegisterParts<Run, Event>> {
  const { statuses, statusOf, idOf, entriesOf, ownerOf } = kind;
  const log = kind.log && new EventLog<Event>(store, kind.log);
  const news = new RunNews(idOf);
  const runs = await Collection.open<Run>(store, {
    ...kind,
    ownerOf,
    rankOf: (run) => statuses[statusOf(run)]?.rank,
    changesOnDelete: (run) => {
      const runId = idOf(run);
      const beside = (entriesOf?.(runId) ?? []).map((entry) => deletion(entry));
      return log === undefined ? beside : [...beside, log.doom(runId)];
    },
    onChange: (before, after) => before && news.changed(before, after),
    now,
  });
  await log?.clear();
  // Nobody waits for it: the run is unknown by now, and its log is cleared at the next start, too.
  news.watch((_, after) => after === undefined && log?.clear().catch(() => undefined));
  return { kind, runs, log, news, holders };
}

function deletion(entry: Pick<Change, "collection" | "key">): Change {
  return { kind: "delete", ...entry };
}
