/**
 * CONFIRM: a word that something waits for. Whoever keeps such things is asked in turn.
 * 404 nothing that waits has this id · 422 malformed; the rest is for the keeper.   AGTP "CONFIRM"
 */

import type { Confirmable } from "../../dispatch/confirmable.ts";
import { CONFIRM_SCHEMA, readConfirmation } from "../../dispatch/confirmation.ts";
import type { FloorMethod } from "../../dispatch/floor.ts";
import { notFound } from "../../dispatch/refusal.ts";

/** CONFIRM on "/"; operators may be known by their certificate alone. */
export function confirmMethod(confirmables: () => readonly Confirmable[]): FloorMethod {
  return {
    inputSchema: CONFIRM_SCHEMA,
    takesCertificate: true,
    handler: async (call, exchange) => {
      const confirmation = readConfirmation(call);
      if ("kind" in confirmation) return confirmation;
      for (const confirmable of confirmables()) {
        const answer = await confirmable.confirm(call, exchange);
        if (answer !== undefined) return answer;
      }
      return notFound("record-not-found", "nothing that can be confirmed has this target_id");
    },
  };
}
