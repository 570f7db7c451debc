/**
 * The answer to an upstream's question, as an operator gives it with CONFIRM: judged by the schema
 * that the upstream asked with, which is a stranger's.   docs/mcp-servers.md
 */
import { prepareMeteredCheck } from "../../schema/metered-schema.ts";
import type { SchemaViolation } from "../../schema/schema.ts";
import type { Decision, Escalation } from "../../state/registers/escalation.ts";
import type { Confirmation } from "./confirmation.ts";

type Answer = Pick<Confirmation, "status" | "content">;

/** The fault of an answer; undefined: none, or nobody asked for one. */
export function contentViolations(
  { approval }: Escalation,
  { status, content = {} }: Answer,
): readonly SchemaViolation[] | undefined {
  if (approval?.question === undefined || status !== "accepted") return undefined;
  const violations = prepareMeteredCheck(approval.question.schema)(content);
  return violations?.map(({ path, ...rest }) => ({ ...rest, path: `/content${path}` }));
}

/** The part of a decision that goes to the upstream. */
export function answerContent(
  { approval }: Escalation,
  { status, content = {} }: Answer,
): Pick<Decision, "content"> {
  return approval?.question === undefined || status !== "accepted" ? {} : { content };
}
