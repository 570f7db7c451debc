/** Checks one task: what it runs, when, and every block it has.   agentcli spec "Task" */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { checkField, checkFields } from "./check-field.ts";
import { checkString } from "./check-text.ts";
import { BOOLEAN, REQUIRED_IDENTIFIER, REQUIRED_STRING, STRING } from "./field.ts";
import type { Findings } from "./finding.ts";
import { OPTIONAL_BLOCKS, SCHEDULE, SHELL, SURFACE, TARGET, TRIGGER } from "./task-fields.ts";

/** Checks everything about a task that the task alone decides. */
export function validateTask(
  findings: Findings,
  path: string,
  task: JsonRecord,
  taskIds: Set<unknown>,
): void {
  checkField(findings, `${path}.id`, task["id"], REQUIRED_IDENTIFIER);
  checkField(findings, `${path}.name`, task["name"], REQUIRED_STRING);
  checkField(findings, `${path}.enabled`, task["enabled"], BOOLEAN);
  const { id, target } = task;
  if (typeof id === "string" && id !== "") {
    if (taskIds.has(id)) findings.error(`${path}.id`, "must be unique within the workflow");
    taskIds.add(id);
  }
  if (isRecord(target)) checkField(findings, `${path}.target`, target, TARGET);
  else findings.error(`${path}.target`, "must be an object");
  const sessionTarget = isRecord(target) ? target["session_target"] : undefined;
  checkSurface(findings, path, task, sessionTarget);
  checkInvocation(findings, path, task);
  checkBlocks(findings, path, task);
  if (sessionTarget === "shell" && isPlanning(task["intent"])) {
    findings.warn(
      `${path}.intent`,
      "shell targets do not get a first-class planning boundary in every backend; intent may be advisory only",
    );
  }
  if (present(task["on_failure"]))
    checkOnFailure(findings, `${path}.on_failure`, task["on_failure"]);
}

/** The id that the handler of a task's failure goes by; undefined: there is none to go by. */
export function failureTaskId({ id, on_failure: handler }: JsonRecord): string | undefined {
  if (!isRecord(handler)) return undefined;
  const { id: own } = handler;
  if (typeof own === "string" && own !== "") return own;
  return typeof id === "string" ? `${id}.failure` : undefined;
}

function present(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isPlanning(intent: unknown): boolean {
  return isRecord(intent) && (intent["mode"] === "plan" || intent["read_only"] === true);
}

/** A program for a shell target, a prompt for any other. */
function checkSurface(findings: Findings, path: string, value: JsonRecord, target: unknown): void {
  const { command, prompt, shell } = value;
  if (SURFACE["command"]) checkField(findings, `${path}.command`, command, SURFACE["command"]);
  if (target !== "shell") {
    if (present(shell)) {
      findings.error(`${path}.shell`, "must not be present unless target.session_target is shell");
    }
    checkString(findings, `${path}.prompt`, prompt, true);
    return;
  }
  if (present(prompt)) findings.error(`${path}.prompt`, "must not be present for shell targets");
  const kind = isRecord(value["target"]) ? value["target"]["payload_kind"] : undefined;
  if (present(kind) && kind !== "shellCommand") {
    findings.error(`${path}.target.payload_kind`, "must be shellCommand for shell targets");
  }
  if (present(shell)) checkField(findings, `${path}.shell`, shell, SHELL);
  else findings.error(`${path}.shell`, "is required");
}

function checkInvocation(
  findings: Findings,
  path: string,
  { schedule, trigger }: JsonRecord,
): void {
  const isWrong = (value: unknown) => present(value) && !isRecord(value);
  if (isWrong(schedule)) findings.error(`${path}.schedule`, "must be an object");
  if (isWrong(trigger)) findings.error(`${path}.trigger`, "must be an object");
  const hasBoth = isRecord(schedule) === isRecord(trigger);
  if (!isWrong(schedule) && !isWrong(trigger) && hasBoth) {
    findings.error(path, "must define exactly one of schedule or trigger");
  }
  if (isRecord(schedule)) checkField(findings, `${path}.schedule`, schedule, SCHEDULE);
  if (isRecord(trigger)) checkField(findings, `${path}.trigger`, trigger, TRIGGER);
}

function checkBlocks(findings: Findings, path: string, value: JsonRecord): void {
  checkFields(findings, path, value, OPTIONAL_BLOCKS);
  const { delivery, approval, context, budgets } = value;
  if (isRecord(delivery)) checkRecipient(findings, `${path}.delivery`, delivery);
  if (isRecord(approval) && present(approval["policy"]) && present(approval["required"])) {
    findings.warn(
      `${path}.approval`,
      "approval.policy takes precedence over approval.required for backend compilation",
    );
  }
  const limit = isRecord(context) ? context["limit"] : undefined;
  const items = isRecord(budgets) ? budgets["max_context_items"] : undefined;
  if (present(limit) && present(items) && limit !== items) {
    findings.warn(
      `${path}.context.limit`,
      "context.limit takes precedence over budgets.max_context_items when both are set",
    );
  }
}

function checkRecipient(findings: Findings, path: string, { mode, to }: JsonRecord): void {
  const isAnnouncing = mode === "announce" || mode === "announce-always";
  if (!isAnnouncing || present(to)) return;
  findings.error(`${path}.to`, 'is required when delivery.mode is "announce" or "announce-always"');
}

function checkOnFailure(findings: Findings, path: string, handler: unknown): void {
  if (!isRecord(handler)) {
    findings.error(path, "must be an object");
    return;
  }
  const { target } = handler;
  checkFields(findings, path, handler, {
    id: { kind: "identifier" },
    name: STRING,
    enabled: BOOLEAN,
    delay_s: { kind: "integer", min: 0 },
    condition: { kind: "condition" },
    target: TARGET,
  });
  const named = isRecord(target) ? target["session_target"] : undefined;
  const inferred = present(handler["shell"]) ? "shell" : "isolated";
  checkSurface(findings, path, handler, present(named) ? named : inferred);
  checkBlocks(findings, path, handler);
}
