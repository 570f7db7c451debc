/**
 * The notifications that QUERY finds: in `inbox` what an agent was sent and may still read, in
 * `notifications` what it has sent and what became of that. Each agent sees its own.   AGTP "QUERY"
 */
import type { QueryCaller, QueryEntry, QuerySource } from "../../dispatch/module/query-source.ts";
import { type InboxEntry, isRead } from "./inboxes.ts";
import type { NotificationRegister } from "./notification-register.ts";
import { currentReceipt, type ReceiptSources } from "./receipt.ts";

/** The register that they are in. */
interface NotificationSourceOptions extends ReceiptSources {
  readonly register: NotificationRegister;
}

const MAX_ENTRIES = 100;
const MAX_SEARCHED_LENGTH = 4000;

/** Both sources. */
export function notificationSources(options: NotificationSourceOptions): readonly QuerySource[] {
  return [
    { name: "inbox", entries: (asker) => inboxEntries(options, asker) },
    { name: "notification", entries: (asker) => sentEntries(options, asker) },
  ];
}

async function inboxEntries(
  { register }: NotificationSourceOptions,
  asker: QueryCaller,
): Promise<readonly QueryEntry[]> {
  const agentId = hostedCaller(asker);
  if (agentId === undefined) return [];
  const shown = register.inboxOf(agentId).slice(0, MAX_ENTRIES);
  const found = await Promise.all(shown.map((entry) => readInboxEntry(register, entry)));
  return found.flatMap((content) => {
    if (content === undefined) return [];
    const { delivery_id: id, content: said, sender, urgency } = content;
    return [
      { id: String(id), texts: [searched(said), searched(sender), String(urgency)], content },
    ];
  });
}

/** An entry as its agent reads it; undefined while it is on its way into the store. */
export async function readInboxEntry(
  register: Pick<NotificationRegister, "contentOf">,
  entry: InboxEntry,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { notification, confirmation } = entry;
  const content = await register.contentOf(notification.serial);
  if (content === undefined) return undefined;
  const { serial, id, sender, senderName, urgency, sentAt, expiresAt } = notification;
  return {
    delivery_id: serial,
    notification_id: id,
    status: isRead(entry) ? "read" : "unread",
    sender: { agent_id: sender, name: senderName },
    urgency,
    sent_at: new Date(sentAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
    ...(confirmation === undefined ? {} : { confirmation: confirmation.status }),
    content,
  };
}

async function sentEntries(
  options: NotificationSourceOptions,
  asker: QueryCaller,
): Promise<readonly QueryEntry[]> {
  const agentId = hostedCaller(asker);
  if (agentId === undefined) return [];
  const sent = options.register.sentBy(agentId).slice(0, MAX_ENTRIES);
  return sent.map((notification) => {
    const { serial, id, recipient, urgency } = notification;
    const content = currentReceipt(notification, options);
    return { id: serial, texts: [id, searched(recipient), urgency], content };
  });
}

/** Strangers have no inbox, and have sent nothing. */
function hostedCaller({ caller }: QueryCaller): string | undefined {
  return caller.document === undefined ? undefined : caller.agentId;
}

function searched(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.slice(0, MAX_SEARCHED_LENGTH);
}
