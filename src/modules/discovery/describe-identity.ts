/**
 * The identity document of an agent, unchanged because its signature covers it: as JSON, as equivalent YAML, or as a
 * page to read.
 * AGTP "Agent Identity Document"
 */

import { type LateLoad, loadLate } from "../../base/late-load.ts";
import type { HandlerSuccess } from "../../handlers/handler.ts";
import type { AgentDocument, AgentStatus } from "../../identity/agent-document.ts";
import { identityPage } from "./describe-page.ts";

/** Loaded between the start and the first request. */
export const loadYaml: LateLoad<typeof import("yaml")> = loadLate(() => import("yaml"));

export type IdentityForm = "json" | "yaml" | "html";

export type IdentityReply = HandlerSuccess | Promise<HandlerSuccess>;

/** Creates the replies; each form of an agent's document is built once. */
export function createIdentityReplies(): (
  agent: AgentDocument,
  form: IdentityForm,
  status: AgentStatus,
) => IdentityReply {
  const made = new WeakMap<AgentDocument, Map<string, IdentityReply>>();
  return (agent, form, status) => {
    const replies = made.get(agent) ?? new Map<string, IdentityReply>();
    made.set(agent, replies);
    // Only the page shows the current status.
    const key = form === "html" ? `${form} ${status}` : form;
    const reply = replies.get(key) ?? makeReply(agent, form, status);
    replies.set(key, reply);
    if (reply instanceof Promise) {
      // A failed reply is built again at the next request.
      reply.catch(() => replies.get(key) === reply && replies.delete(key));
    }
    return reply;
  };
}

function makeReply(agent: AgentDocument, form: IdentityForm, status: AgentStatus): IdentityReply {
  switch (form) {
    case "json":
      return reply(JSON.stringify(agent.document), IDENTITY_JSON);
    case "yaml":
      return toYaml(agent.document).then((text) => reply(text, IDENTITY_YAML));
    case "html":
      return reply(identityPage(agent, status), "text/html; charset=utf-8");
  }
}

function reply(text: string, contentType: string): HandlerSuccess {
  return { body: Buffer.from(text, "utf8"), headers: { "Content-Type": contentType } };
}

/** Strings are quoted, so that no YAML version reads `no` or a date as another type. */
async function toYaml(document: AgentDocument["document"]): Promise<string> {
  const { stringify } = await loadYaml();
  return stringify(document, {
    aliasDuplicateObjects: false,
    defaultKeyType: "PLAIN",
    defaultStringType: "QUOTE_DOUBLE",
    lineWidth: 0,
  });
}

/** The form of a description: the capability document, or one of the agent's other documents. */
export type DescriptionForm = "capabilities" | "json" | "yaml" | "html" | "certificate" | "status";

const BY_NAME: ReadonlyMap<string, DescriptionForm> = new Map<string, DescriptionForm>([
  ["json", "json"],
  ["yaml", "yaml"],
  ["html", "html"],
  ["manifest", "html"],
  ["certificate", "certificate"],
  ["status", "status"],
]);

/** The values of `format`. */
export const FORMAT_NAMES: readonly string[] = [...BY_NAME.keys()];

/** The media type of an identity document, as JSON. */
const IDENTITY_JSON = "application/vnd.agtp.identity+json";
/** The media type of an identity document, as YAML. */
const IDENTITY_YAML = "application/vnd.agtp.identity+yaml";

const BY_TYPE: ReadonlyMap<string, DescriptionForm> = new Map<string, DescriptionForm>([
  [IDENTITY_JSON, "json"],
  [IDENTITY_YAML, "yaml"],
  ["application/yaml", "yaml"],
  ["text/yaml", "yaml"],
  ["text/html", "html"],
]);

/** Types that accept the method's default form. */
const UNSPECIFIC: ReadonlySet<string> = new Set([
  "*/*",
  "application/*",
  "application/json",
  "application/vnd.agtp+json",
]);

const MAX_RANGES = 64;
const WEIGHT = /;[ \t]*q=([01](?:\.\d{0,3})?)[ \t]*(?:;|$)/i;

/** The form that a request prefers; `usual` if it has no preference. */
export function chooseForm(
  format: unknown,
  accept: string | undefined,
  usual: DescriptionForm,
): DescriptionForm {
  const named = typeof format === "string" ? BY_NAME.get(format) : undefined;
  if (named !== undefined) return named;
  let best = { form: usual, weight: 0 };
  for (const range of (accept ?? "").split(",", MAX_RANGES)) {
    const type = (range.split(";", 1)[0] ?? "").trim().toLowerCase();
    const form = UNSPECIFIC.has(type) ? usual : BY_TYPE.get(type);
    const weight = Number(WEIGHT.exec(range)?.[1] ?? 1);
    // Among equal weights, the first one wins.
    if (form !== undefined && weight > best.weight) best = { form, weight };
  }
  return best.form;
}
