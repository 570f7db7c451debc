/**
 * The identity document of an agent, as it was loaded: its signature covers it, so nothing is added,
 * changed or left out. As JSON, as the same in YAML, or as a page to read.
 * AGTP "Agent Identity Document"
 */

import { type LateLoad, loadLate } from "../../base/late-load.ts";
import type { HandlerSuccess } from "../../handlers/handler.ts";
import type { AgentDocument, AgentStatus } from "../../identity/agent-document.ts";
import { IDENTITY_JSON, IDENTITY_YAML } from "./describe-format.ts";
import { identityPage } from "./describe-page.ts";

/** Loaded between the start and the first request. */
export const loadYaml: LateLoad<typeof import("yaml")> = loadLate(() => import("yaml"));

/** The forms that an identity document has. */
export type IdentityForm = "json" | "yaml" | "html";

/** An answer that is there, or on its way. */
export type IdentityReply = HandlerSuccess | Promise<HandlerSuccess>;

/** Makes the answers; each form of each agent is made once. */
export function createIdentityReplies(): (
  agent: AgentDocument,
  form: IdentityForm,
  status: AgentStatus,
) => IdentityReply {
  const made = new WeakMap<AgentDocument, Map<string, IdentityReply>>();
  return (agent, form, status) => {
    const replies = made.get(agent) ?? new Map<string, IdentityReply>();
    made.set(agent, replies);
    // Only the page shows how the agent stands now.
    const key = form === "html" ? `${form} ${status}` : form;
    const reply = replies.get(key) ?? makeReply(agent, form, status);
    replies.set(key, reply);
    if (reply instanceof Promise) {
      // A description that could not be made is made again for whoever asks next.
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

/** Texts are quoted, so that no reader of any version of YAML takes `no` or a date for one. */
async function toYaml(document: AgentDocument["document"]): Promise<string> {
  const { stringify } = await loadYaml();
  return stringify(document, {
    aliasDuplicateObjects: false,
    defaultKeyType: "PLAIN",
    defaultStringType: "QUOTE_DOUBLE",
    lineWidth: 0,
  });
}
