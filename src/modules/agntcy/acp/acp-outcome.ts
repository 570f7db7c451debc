/** The outcome of a call to an ACP server: the value that it was made for, or why there is none. */
import { type AcpAnswer, type AcpFailure, malformed } from "./acp-call.ts";

/** The outcome of a call. */
export type AcpOutcome<Value> = { readonly kind: "ok"; readonly value: Value } | AcpFailure;

/** The value that an answer holds; what cannot be read is malformed. */
export function toOutcome<Value>(
  answer: AcpAnswer,
  read: (body: unknown) => Value | undefined,
): AcpOutcome<Value> {
  if (answer.kind === "failed") return answer;
  const value = read(answer.body);
  return value === undefined ? malformed("is not what ACP says") : { kind: "ok", value };
}
