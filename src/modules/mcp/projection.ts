/** The tools of a client as it would be shown them now, found without a request of its own. */

import { createCallerResolver } from "../../dispatch/caller-resolver.ts";
import type { McpContext } from "./config.ts";
import type { Projection } from "./front.ts";
import type { FrontContracts } from "./front-contracts.ts";
import type { ListedTool } from "./toolbox.ts";
import type { VisibleTools } from "./visible-tools.ts";

const NOTHING: readonly ListedTool[] = [];

/** Of a deployment; its callers are those that its gates would find. */
export function createProjection(
  { config, dispatch }: Pick<McpContext, "config" | "dispatch">,
  visible: VisibleTools,
  { tools }: Pick<FrontContracts, "tools">,
): Projection {
  const resolve = createCallerResolver(dispatch().directory, config.policies.identity);
  return {
    toolsOf: ({ fields, peer, key }) => {
      const resolution = resolve(fields.get("agent-id") ?? "", undefined, peer);
      if ("kind" in resolution || resolution.refusal !== undefined) return NOTHING;
      // Which principal it is changes nothing that is listed.
      const principalId = fields.has("authorization") ? key : undefined;
      return visible({ caller: { ...resolution.caller, principalId }, peer });
    },
    validUntil: (agentId) => tools.validUntil(agentId),
  };
}
