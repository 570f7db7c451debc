/** Notifications and webhooks that a process keeps through every reload. */
import type { KeptParts } from "../../dispatch/process-state.ts";
import { RateWindow } from "../../dispatch/rates/rate-window.ts";
import type { Store } from "../../state/store.ts";
import { NotificationRegister } from "./notification-register.ts";
import { WebhookOutbox } from "./webhook-outbox.ts";

/** Messages, and how often each agent sends one. */
interface DeliveryState {
  readonly webhooks: WebhookOutbox;
  readonly notifications: NotificationRegister;
  readonly rate: RateWindow;
}

/** Opens what an earlier process kept; how often each agent notifies ends with the processes. */
export async function openDelivery(
  store: Store,
  _: unknown,
  { holders, minuteRates: rates }: Pick<KeptParts, "holders" | "minuteRates">,
): Promise<DeliveryState> {
  const webhooks = await WebhookOutbox.open({ store, holders });
  const notifications = await NotificationRegister.open({ store, outbox: webhooks });
  return { webhooks, notifications, rate: new RateWindow({ name: "notify", rates }) };
}
