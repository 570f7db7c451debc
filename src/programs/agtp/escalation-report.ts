/**
 * The answer of `agtp escalations` for a person: one escalation after another, what is asked
 * and by when, and how it was decided. Any other answer is shown as a response.
 */
import pc from "picocolors";
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { ClientResponse } from "../../client/agtp-client.ts";
import { defuse, defuseLine, type Output, type Terminal } from "../shell/terminal.ts";
import type { ExchangeLine } from "./exchange-options.ts";

/** Prints escalations; false: there are none in it to be printed so. */
export function printEscalations(
  { status, body }: ClientResponse,
  { isEscalationList = false, json = false, include = false }: ExchangeLine,
  { out, err }: Terminal,
): boolean {
  if (!isEscalationList || json || include || status !== 200) return false;
  const result = isRecord(body) ? body["result"] : undefined;
  if (!isRecord(result)) return false;
  const listed = result["escalations"] ?? [result];
  if (!Array.isArray(listed) || !listed.every(isRecord)) return false;
  for (const escalation of listed) out.write(textOf(escalation, out));
  if (listed.length === 0) err.write("nothing waits for a decision\n");
  const total = Number(result["total"] ?? listed.length);
  if (total > listed.length) err.write(`${listed.length} of ${total}: --limit shows more\n`);
  return true;
}

function textOf(escalation: JsonRecord, { hasColour }: Output): string {
  const colours = pc.createColors(hasColour);
  const { escalation_id: id, status, priority, deadline, decision, context } = escalation;
  const { agent_id: agentId, task_id: taskId, reason, routed_to: recipient } = escalation;
  const lines = [
    `${colours.bold(show(id))}  ${show(status)}  ${show(priority)}  until ${show(deadline)}`,
    `  agent ${show(agentId)}  task ${show(taskId)}  ${show(reason)}  to ${show(recipient)}`,
    ...askedIn(context, escalation).map((line) => `  ${line}`),
  ];
  if (isRecord(decision)) lines.push(`  ${decisionText(decision)}`);
  return `${lines.join("\n")}\n`;
}

const ABOUT_CALLS: ReadonlySet<unknown> = new Set(["approval", "elicitation"]);

/** A call that is to be approved, or goes on with an answer, is shown whole: it is what will run. */
function askedIn(context: unknown, { kind, call_digest: digest }: JsonRecord): readonly string[] {
  const call = ABOUT_CALLS.has(kind) && isRecord(context) ? context["call"] : undefined;
  if (!isRecord(call) || !isRecord(context)) {
    const asked = typeof context === "string" ? context : (JSON.stringify(context) ?? "");
    return [defuseLine(asked)];
  }
  const { method, path, principal, input } = call;
  return [
    `${whole(method)} ${whole(path)}  ${show(context["impact"])}  for ${show(principal)}`,
    whole(JSON.stringify(input) ?? ""),
    ...(kind === "elicitation" ? questionIn(context) : []),
    show(digest),
  ];
}

/** The words of an upstream, and the schema that an answer has to satisfy. */
function questionIn({
  upstream,
  message,
  requested_schema: schema,
}: JsonRecord): readonly string[] {
  return [`${show(upstream)} asks: ${whole(message)}`, whole(JSON.stringify(schema) ?? "")];
}

function decisionText({ status, timestamp, decided_by: by, reason }: JsonRecord): string {
  const why = reason === undefined ? "" : `: ${show(reason)}`;
  return `${show(status)} at ${show(timestamp)} by ${show(by ?? "an operator")}${why}`;
}

function whole(value: unknown): string {
  return defuse(String(value)).replaceAll("\n", "\ufffd");
}

function show(value: unknown): string {
  return typeof value === "string" ? defuseLine(value) : "-";
}
