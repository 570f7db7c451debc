/** What the floor methods keep while a daemon runs, through every reload. */
import type { WebhookQueue } from "../delivery/webhook-queue.ts";
import type { Store } from "../store/store.ts";
import { openTasks, type TaskState } from "../tasks/state.ts";

/** One member a part, opened once. */
export interface FloorState {
  readonly store: Store;
  readonly tasks: TaskState;
  /** The way to people; undefined: there is none. */
  readonly webhooks?: WebhookQueue | undefined;
}

/** Opens what an earlier process kept. */
export async function openFloorState(store: Store): Promise<FloorState> {
  return { store, tasks: await openTasks(store) };
}
