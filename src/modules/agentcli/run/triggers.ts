/**
 * Decides which tasks of a workflow follow on another: by how it ended, and by what it put out.
 * Conditions are matched in linear time, whatever their authors wrote.   agentcli spec "Triggers"
 */
import { compileLinearRegex } from "../../../schema/linear-regex.ts";
import type { Task, Trigger, Workflow } from "../manifest/manifest.ts";

/** A task that follows, or why one that might does not. */
type Followed =
  | { readonly kind: "follows"; readonly task: Task }
  | { readonly kind: "not-run"; readonly task: Task; readonly reason: string };

/** In the order of the manifest; tasks that are not meant are left out. */
export function tasksAfter(
  { tasks }: Workflow,
  parentId: string,
  output: { readonly isOk: boolean; readonly text: string },
): readonly Followed[] {
  return tasks.flatMap((task): readonly Followed[] => {
    const { trigger, enabled } = task;
    if (trigger === undefined || trigger === null || trigger.parent !== parentId) return [];
    if (enabled === false || !isMeant(trigger.on, output.isOk)) return [];
    const verdict = matches(trigger.condition ?? null, output.text);
    if (verdict === false) return [];
    if (verdict !== true) return [{ kind: "not-run", task, reason: verdict }];
    if ((trigger.delay_s ?? 0) > 0) {
      const reason = "delay_s needs a scheduler: a daemon has no clock for it";
      return [{ kind: "not-run", task, reason }];
    }
    return [{ kind: "follows", task }];
  });
}

function isMeant(on: Trigger["on"], isOk: boolean): boolean {
  return on === "complete" || (on === "success") === isOk;
}

/** A reason where it cannot be told. */
function matches(condition: string | null, text: string): boolean | string {
  if (condition === null) return true;
  const [, kind, rest = ""] = /^(contains|regex):([\s\S]*)$/.exec(condition) ?? [];
  if (kind === "contains") return text.includes(rest);
  const compiled = compileLinearRegex(rest);
  return compiled.kind === "regex"
    ? compiled.regex.test(text)
    : `the condition ${compiled.message}`;
}
