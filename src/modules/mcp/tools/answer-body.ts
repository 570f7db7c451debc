/** The body of an answer as a value, and what a refusal says of itself. */
import { type JsonRecord, parseJson, recordIn } from "../../../base/json-value.ts";
import type { Response } from "../../../wire/message.ts";

/** The body as text; empty where there is none. */
export function bodyText({ body }: Pick<Response, "body">): string {
  return typeof body === "string" ? body : Buffer.from(body).toString("utf8");
}

/** The words of a refusal. */
interface RefusalWords {
  readonly code: string;
  readonly message: string;
  /** The whole of `error`. */
  readonly error: JsonRecord;
}

/** Reads the body of a refusal. */
export function refusalWords(text: string): RefusalWords {
  const value = parseJson(text);
  const error = recordIn(recordIn(value)["error"]);
  const { code, message } = error;
  return {
    code: typeof code === "string" ? code : "error",
    message: typeof message === "string" ? message : "the request was refused",
    error,
  };
}
