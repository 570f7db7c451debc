/**
 * How `agtp escalations` shows its answer to a person: one escalation after another, what is asked
 * and by when, and how it was decided. Whatever else was answered is shown as any response.
 */
import pc from "picocolors";
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { ClientResponse } from "../../client/agtp-client.ts";
import { defuseLine, type Output, type Terminal } from "../shell/terminal.ts";
import type { CommandLine } from "./command-line.ts";

/** Prints escalations; false: there are none in it to be printed so. */
export function printEscalations(
  { status, body }: ClientResponse,
  { isEscalationList = false, json = false, include = false }: CommandLine,
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
  const asked = typeof context === "string" ? context : (JSON.stringify(context) ?? "");
  const lines = [
    `${colours.bold(show(id))}  ${show(status)}  ${show(priority)}  until ${show(deadline)}`,
    `  agent ${show(agentId)}  task ${show(taskId)}  ${show(reason)}  to ${show(recipient)}`,
    `  ${defuseLine(asked)}`,
  ];
  if (isRecord(decision)) lines.push(`  ${decisionText(decision)}`);
  return `${lines.join("\n")}\n`;
}

function decisionText({ status, timestamp, decided_by: by, reason }: JsonRecord): string {
  const why = reason === undefined ? "" : `: ${show(reason)}`;
  return `${show(status)} at ${show(timestamp)} by ${show(by ?? "an operator")}${why}`;
}

function show(value: unknown): string {
  return typeof value === "string" ? defuseLine(value) : "-";
}
