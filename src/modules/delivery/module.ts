/**
 * NOTIFY and its surroundings: inboxes, their agents' confirmations by CONFIRM, the views for QUERY and INSPECT, and
 * the webhook outbox, which sends while this deployment is served.   AGTP "NOTIFY"
 */
import { relative } from "node:path";
import type { Problem } from "../../base/problem.ts";
import { isDisclosedTo } from "../../dispatch/caller/disclosure.ts";
import type { Module } from "../../dispatch/module/module.ts";
import type { KeptParts } from "../../dispatch/process-state.ts";
import { RateWindow } from "../../dispatch/rates/rate-window.ts";
import { notFound, type Refusal, violationAt } from "../../dispatch/refusals/refusal.ts";
import { describeBy, floorEndpoints, floorResult } from "../../dispatch/routes/floor.ts";
import { protocolRoutes } from "../../dispatch/routes/protocol-endpoint.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import { readConfiguredCa } from "../../endpoint/upstream-ca.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import { ownAddress } from "../../identity/own-address.ts";
import type { Store } from "../../state/store.ts";
import type { DeliveryContext, DeliverySections } from "./config.ts";
import { confirmableNotifications, inboxEndpoint } from "./inbox-methods.ts";
import { NotificationRegister } from "./notification-register.ts";
import { currentReceipt, notificationSources, type ReceiptSources } from "./notification-views.ts";
import { notifyHandler } from "./notify.ts";
import { NOTIFY_SCHEMA } from "./notify-request.ts";
import { type AddressBook, resolveRecipients } from "./recipients.ts";
import { WebhookOutbox } from "./webhook-outbox.ts";
import { createWebhookSender, type WebhookSenderOptions } from "./webhook-sender.ts";

export const deliveryModule: Module<DeliverySections> = {
  name: "delivery",
  takes: { agents: true, groups: true, policies: true, server: true, webhooks: true },
  async provision(context) {
    const { config, directory, state, log } = context;
    const { notifications: register, webhooks: outbox, rate } = await context.once(openDelivery);
    const { ca, problems } = readConfiguredCa(config.webhooks.ca, "webhooks.ca", config);
    const book = addressBook(context);
    const webhooks = webhooksOf(config);
    const sender = createWebhookSender({ ...webhooks, ca });
    let stop: (() => Promise<void>) | undefined;
    const handler = notifyHandler({
      ...{ directory, certificates: state.certificates, policy: config.policies.identity },
      ...{ register, rate, book, serverId: config.server.serverId },
    });
    const notify = { inputSchema: NOTIFY_SCHEMA, handler, takesCertificate: true };
    const methods = new Map([["NOTIFY", notify]]);
    const endpoints = [
      ...floorEndpoints(methods, describeBy(context.catalog)),
      inboxEndpoint(register),
    ];
    return {
      routes: protocolRoutes(endpoints, context),
      sources: notificationSources({ register, outbox }),
      confirmables: [confirmableNotifications(register)],
      inspections: new Map([
        [
          "notification",
          (call, exchange) => inspectNotification({ register, outbox }, call, exchange),
        ],
      ]),
      webhooks: outbox,
      blockers: [...problems, ...findMissingMembers(config, book)],
      start: () => {
        const reaches = (url: string): boolean => webhooks.urls.has(url);
        stop = outbox.deliverBy({ send: sender.send, reaches, log });
      },
      warmUp: () => sender.prepare(),
      stop: async () => {
        await stop?.();
        await sender.close();
      },
    };
  },
};

function webhooksOf({ webhooks, server }: DeliverySections): Omit<WebhookSenderOptions, "ca"> {
  const { escalations, recipients, secret } = webhooks;
  const urls = new Set(Object.values(recipients));
  if (escalations !== undefined) urls.add(escalations);
  return { urls, serverId: server.serverId, secret };
}

function addressBook(context: DeliveryContext): AddressBook {
  const { config, directory, state } = context;
  return {
    directory,
    isRetired: (agent) => state.lifecycle.statusOf(agent) === "retired",
    isDisclosedTo: (sender) => isDisclosedTo(context, sender),
    webhooks: config.webhooks.recipients,
    groups: config.groups,
    isOwnAddress: ownAddress(config.server),
  };
}

/** Warns of group members that do not exist; they get nothing, and senders to the group see that. */
function findMissingMembers(
  { groups, directory, file }: DeliverySections,
  book: AddressBook,
): readonly Problem[] {
  return Object.entries(groups).flatMap(([group, members]) =>
    members.flatMap((member, index): readonly Problem[] => {
      const [recipient] = resolveRecipients([member], book);
      if (recipient?.kind !== "nobody" || recipient.agentId !== undefined) return [];
      const place = { file: relative(directory, file), key: `groups.${group}[${index}]` };
      return [{ ...place, message: `no agent is called "${member}"`, severity: "warning" }];
    }),
  );
}

interface InspectNotificationOptions extends ReceiptSources {
  readonly register: Pick<NotificationRegister, "find" | "settled" | "entryOf" | "now">;
}

/** INSPECT of a notification: its current receipt, for its sender; 404 for others. */
async function inspectNotification(
  sources: InspectNotificationOptions,
  call: Call,
  { caller: { agentId, document } }: ExchangeView,
): Promise<HandlerSuccess | Refusal> {
  const { notification_id: id } = call.input;
  if (typeof id !== "string") {
    return violationAt("/notification_id", "required", "is required by this target");
  }
  const isKnown = agentId !== undefined && document !== undefined;
  const notification = isKnown ? sources.register.find(agentId, id) : undefined;
  if (notification === undefined) {
    return notFound("record-not-found", "this agent has sent no notification with this id");
  }
  await sources.register.settled(notification);
  return floorResult(call, { target: "notification", ...currentReceipt(notification, sources) });
}

/** Notifications, webhook messages and the senders' rates. */
interface KeptDelivery {
  readonly webhooks: WebhookOutbox;
  readonly notifications: NotificationRegister;
  readonly rate: RateWindow;
}

/** Opens the stored notifications and messages; the senders' rates end with the processes. */
export async function openDelivery(
  store: Store,
  _: unknown,
  { holders, minuteRates: rates }: Pick<KeptParts, "holders" | "minuteRates">,
): Promise<KeptDelivery> {
  const webhooks = await WebhookOutbox.open({ store, holders });
  const notifications = await NotificationRegister.open({ store, outbox: webhooks });
  return { webhooks, notifications, rate: new RateWindow({ name: "notify", rates }) };
}
