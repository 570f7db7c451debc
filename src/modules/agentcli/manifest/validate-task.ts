/** Checks one task: what it runs, when, and every block it has.   agentcli spec "Task" */
import type { DocumentPlace } from "../../../base/document-place.ts";
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { checkField, checkFields, checkString } from "./check-field.ts";
import { BOOLEAN, REQUIRED_IDENTIFIER, REQUIRED_STRING, STRING } from "./field.ts";
import { OPTIONAL_BLOCKS, SCHEDULE, SHELL, SURFACE, TARGET, TRIGGER } from "./task-fields.ts";

/** Checks everything about a task that the task alone decides. */
export function validateTask(task: DocumentPlace, taskIds: Set<unknown>): void {
  const [id, target] = [task.at("id"), task.at("target")];
  checkField(id, REQUIRED_IDENTIFIER);
  checkField(task.at("name"), REQUIRED_STRING);
  checkField(task.at("enabled"), BOOLEAN);
  if (typeof id.value === "string" && id.value !== "") {
    if (taskIds.has(id.value)) id.fail("must be unique within the workflow");
    taskIds.add(id.value);
  }
  if (target.record() !== undefined) checkField(target, TARGET);
  const sessionTarget = target.at("session_target").value;
  checkSurface(task, sessionTarget);
  checkInvocation(task);
  checkBlocks(task);
  const intent = task.at("intent");
  if (sessionTarget === "shell" && isPlanning(intent)) {
    intent.warn(
      "shell targets do not get a first-class planning boundary in every backend; intent may be advisory only",
    );
  }
  if (task.has("on_failure")) checkOnFailure(task.at("on_failure"));
}

/** The id that the handler of a task's failure goes by; undefined: there is none to go by. */
export function failureTaskId({ id, on_failure: handler }: JsonRecord): string | undefined {
  if (!isRecord(handler)) return undefined;
  const { id: own } = handler;
  if (typeof own === "string" && own !== "") return own;
  return typeof id === "string" ? `${id}.failure` : undefined;
}

function isPlanning(intent: DocumentPlace): boolean {
  return intent.at("mode").value === "plan" || intent.at("read_only").value === true;
}

/** A program for a shell target, a prompt for any other. */
function checkSurface(block: DocumentPlace, target: unknown): void {
  const [prompt, shell] = [block.at("prompt"), block.at("shell")];
  if (SURFACE["command"]) checkField(block.at("command"), SURFACE["command"]);
  if (target !== "shell") {
    if (!shell.isAbsent) shell.fail("must not be present unless target.session_target is shell");
    checkString(prompt, true);
    return;
  }
  if (!prompt.isAbsent) prompt.fail("must not be present for shell targets");
  const kind = block.at("target").at("payload_kind");
  if (!kind.isAbsent && kind.value !== "shellCommand") {
    kind.fail("must be shellCommand for shell targets");
  }
  if (shell.isAbsent) shell.fail("is required");
  else checkField(shell, SHELL);
}

function checkInvocation(task: DocumentPlace): void {
  const both = [task.at("schedule"), task.at("trigger")];
  const [schedule, trigger] = both.map((place) => place.optional?.record());
  const isWrong = both.some((place) => !place.isAbsent && !isRecord(place.value));
  if (!isWrong && (schedule === undefined) === (trigger === undefined)) {
    task.fail("must define exactly one of schedule or trigger");
  }
  if (schedule !== undefined) checkField(schedule, SCHEDULE);
  if (trigger !== undefined) checkField(trigger, TRIGGER);
}

function checkBlocks(block: DocumentPlace): void {
  checkFields(block, OPTIONAL_BLOCKS);
  checkRecipient(block.at("delivery"));
  const approval = block.at("approval");
  if (approval.has("policy") && approval.has("required")) {
    approval.warn(
      "approval.policy takes precedence over approval.required for backend compilation",
    );
  }
  const limit = block.at("context").at("limit");
  const items = block.at("budgets").at("max_context_items");
  if (!limit.isAbsent && !items.isAbsent && limit.value !== items.value) {
    limit.warn("context.limit takes precedence over budgets.max_context_items when both are set");
  }
}

function checkRecipient(delivery: DocumentPlace): void {
  const { value: mode } = delivery.at("mode");
  const isAnnouncing = mode === "announce" || mode === "announce-always";
  if (!isAnnouncing || delivery.has("to")) return;
  delivery.at("to").fail('is required when delivery.mode is "announce" or "announce-always"');
}

function checkOnFailure(handler: DocumentPlace): void {
  if (handler.record() === undefined) return;
  checkFields(handler, {
    id: { kind: "identifier" },
    name: STRING,
    enabled: BOOLEAN,
    delay_s: { kind: "integer", min: 0 },
    condition: { kind: "condition" },
    target: TARGET,
  });
  const named = handler.at("target").at("session_target");
  const inferred = handler.has("shell") ? "shell" : "isolated";
  checkSurface(handler, named.isAbsent ? inferred : named.value);
  checkBlocks(handler);
}
