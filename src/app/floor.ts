/**
 * The floor methods beyond negotiation and the lifecycle, put together from their parts: what each
 * answers, what it shows to QUERY, and what runs beside the requests.   AGTP "Method Floor"
 */
import { loadYaml } from "../modules/discovery/describe-identity.ts";
import { firstHand } from "../modules/search/first-hand.ts";
import { agntcyPart } from "./floor-agntcy.ts";
import { delegationPart } from "./floor-delegation.ts";
import { deliveryPart } from "./floor-delivery.ts";
import { executionPart } from "./floor-execution.ts";
import { openwopPart } from "./floor-openwop.ts";
import { runsPart } from "./floor-runs.ts";
import { createSearchPart } from "./floor-search.ts";
import { createTasksPart } from "./floor-tasks.ts";
import { thinkingPart } from "./floor-thinking.ts";
import type { FloorPart, FloorParts } from "./protocol-parts.ts";

/** All parts as one. */
export type Floor = Required<FloorPart>;

/** Makes the parts. Writes nothing. */
export async function createFloor(
  options: Omit<FloorParts, "sources" | "confirmables">,
): Promise<Floor> {
  const parts: FloorPart[] = [];
  const sources = () => parts.flatMap((part) => part.sources ?? []).map(firstHand);
  const confirmables = () => parts.flatMap((part) => part.confirmables ?? []);
  const given: FloorParts = { ...options, sources, confirmables };
  for (const create of PARTS) parts.push(await create(given));
  return {
    methods: new Map(parts.flatMap((part) => [...(part.methods ?? [])])),
    endpoints: parts.flatMap((part) => part.endpoints ?? []),
    sources: sources(),
    confirmables: confirmables(),
    faces: parts.flatMap((part) => part.faces ?? []),
    problems: parts.flatMap((part) => part.problems ?? []),
    skipped: parts.flatMap((part) => part.skipped ?? []),
    delegations: parts.find((part) => part.delegations !== undefined)?.delegations,
    join: (entrance) => {
      for (const part of parts) part.join?.(entrance);
    },
    start: () => {
      for (const part of parts) part.start?.();
      loadYaml.prepare();
    },
    close: async () => {
      await Promise.all(parts.map((part) => part.close?.()));
    },
  };
}

/** One line a part, in the order of the design's table of methods. */
const PARTS: readonly ((parts: FloorParts) => FloorPart | Promise<FloorPart>)[] = [
  createSearchPart, //                                       QUERY, DISCOVER by criteria
  thinkingPart, //                                           SUMMARIZE, PLAN
  executionPart, //                                          EXECUTE
  delegationPart, //                                         DELEGATE
  runsPart, //                                               runs of OpenWOP workflows and agents
  agntcyPart, //                                             runs of AGNTCY agents
  createTasksPart, //                                        ESCALATE, CONFIRM, SUSPEND, RESUME
  deliveryPart, //                                           NOTIFY
  openwopPart, //                                            QUERY and EXECUTE of hosted agents
];
