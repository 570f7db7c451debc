/** What the floor methods keep while a daemon runs, through every reload. */
import { NotificationRegister } from "../delivery/notification-register.ts";
import { WebhookOutbox } from "../delivery/webhook-outbox.ts";
import type { Store } from "../store/store.ts";
import { RateWindow } from "../synthesis/rate-window.ts";
import { openTasks, type TaskState } from "../tasks/state.ts";

/** One member a part, opened once. */
export interface FloorState {
  readonly store: Store;
  /** The way to people, for whoever has something to tell them. */
  readonly webhooks: WebhookOutbox;
  readonly notifications: NotificationRegister;
  /** How often each agent notifies. */
  readonly notifyRate: RateWindow;
  readonly tasks: TaskState;
}

/** Opens what an earlier process kept. */
export async function openFloorState(store: Store): Promise<FloorState> {
  const webhooks = await WebhookOutbox.open({ store });
  const notifications = await NotificationRegister.open({ store, outbox: webhooks });
  const tasks = await openTasks(store);
  return { store, webhooks, notifications, notifyRate: new RateWindow(), tasks };
}
