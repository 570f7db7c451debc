/**
 * Parameters of requests, in the form that the library takes schemas in. A request whose parameters
 * are others is -32602; the library's own schemas make a fault of this server of it.
 */
import type { StandardSchemaV1 } from "@modelcontextprotocol/server";
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import { invalidParams } from "./protocol-errors.ts";

/** Parameters of which one is a text that has to be there; the others are handed on. */
export function withText<N extends string>(
  name: N,
): StandardSchemaV1<unknown, Readonly<Record<N, string>>> {
  return schemaOf((params) =>
    typeof params[name] === "string" ? undefined : `${name} must be a string`,
  );
}

/** Parameters that nothing depends on. */
export const ANY_PARAMS: StandardSchemaV1 = schemaOf(() => undefined);

/** The parameters of a list. */
export const LIST_PARAMS: StandardSchemaV1<unknown, { readonly cursor?: string }> = schemaOf(
  ({ cursor }) =>
    cursor === undefined || typeof cursor === "string" ? undefined : "cursor must be a string",
);

/** Refuses a cursor to a list that has one page only. */
export function refuseCursor(cursor: string | undefined): void {
  if (cursor !== undefined) throw invalidParams("cursor must be a cursor that this server gave");
}

function schemaOf<T>(
  faultOf: (params: JsonRecord) => string | undefined,
): StandardSchemaV1<unknown, T> {
  return {
    "~standard": {
      version: 1,
      vendor: "agtpd",
      validate: (value) => {
        const message = isRecord(value) ? faultOf(value) : "params must be an object";
        return message === undefined ? { value: value as T } : { issues: [{ message }] };
      },
    },
  };
}
