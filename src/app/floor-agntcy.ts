/**
 * What runs beside the requests for AGNTCY agents, what QUERY finds of their runs, and what CONFIRM
 * says to them; it goes before the keeper of escalations, for whom their answers are nothing but words.
 */

import { recordStreamEvents } from "../dispatch/stream-events.ts";
import { confirmableInterrupts } from "../modules/agntcy/interrupts/confirmable-interrupts.ts";
import type { FloorPart, FloorParts } from "./protocol-parts.ts";

/** The part. */
export function agntcyPart(parts: FloorParts): FloorPart {
  const { agntcy, attributor, floor } = parts;
  const { hosted } = agntcy;
  const { escalations } = floor.tasks;
  return {
    sources: agntcy.sources,
    confirmables: [confirmableInterrupts({ escalations, attributor, hosted })],
    start: () => agntcy.start(recordStreamEvents(parts)),
    close: () => agntcy.handOver(),
  };
}
