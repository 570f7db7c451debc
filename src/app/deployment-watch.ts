/** Looks again and again for files of a deployment that have changed, for somebody who is writing them. */
import { pause } from "../base/back-off.ts";
import { changedFiles, type FileMarks, markFiles } from "./file-marks.ts";

/** A file that is saved in several writes, or several of them, are there within it. */
const EVERY_MS = 500;

interface WatchOptions {
  /** The deployment as it is served; a reload may have its handlers elsewhere. */
  readonly config: () => Parameters<typeof markFiles>[0];
  /** Serves the changes; the next look waits for it. */
  readonly onChange: (files: readonly string[]) => Promise<unknown>;
  readonly everyMs?: number | undefined;
}

/** Tells of changes once they have stopped: two looks in a row have found the same. Ends when it is closed. */
export class DeploymentWatch {
  readonly #options: WatchOptions;
  readonly #closed = new AbortController();

  constructor(options: WatchOptions) {
    this.#options = options;
    void this.#run();
  }

  close(): void {
    this.#closed.abort();
  }

  async #run(): Promise<void> {
    const { config, onChange, everyMs = EVERY_MS } = this.#options;
    let served: FileMarks = await markFiles(config());
    let last = served;
    while (await pause(everyMs, this.#closed.signal)) {
      const now = await markFiles(config());
      const isQuiet = changedFiles(last, now).length === 0;
      last = now;
      const files = isQuiet ? changedFiles(served, now) : [];
      if (files.length === 0 || this.#closed.signal.aborted) continue;
      served = now;
      await onChange(files).catch(() => undefined);
    }
  }
}
