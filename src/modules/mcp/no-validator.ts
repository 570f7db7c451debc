/** The library makes a validator for each server unless it is given one; no answer of a user needs it. */
import type { jsonSchemaValidator } from "@modelcontextprotocol/server";

/** Throws where it is asked: whatever is checked here, this server's own schemas check. */
export const SCHEMAS_UNUSED: jsonSchemaValidator = {
  getValidator: () => {
    throw new Error("the library is not asked to judge by a schema");
  },
};
