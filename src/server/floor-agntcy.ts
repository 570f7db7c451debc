/** What runs beside the requests for AGNTCY agents, and what QUERY finds of their runs. */
import type { FloorPart, FloorParts } from "./protocol-parts.ts";

/** The part. */
export function agntcyPart({ agntcy }: FloorParts): FloorPart {
  return {
    sources: agntcy.sources,
    start: () => agntcy.start(),
    close: () => agntcy.handOver(),
  };
}
