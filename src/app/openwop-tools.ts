/** The endpoints of this server as tools of its agents, once there is a pipeline to call them by. */

import { type ActAs, actingCaller } from "../dispatch/acting.ts";
import type { ToolHost } from "../modules/openwop/turn/tool-host.ts";
import type { FindEndpoint } from "../modules/openwop/turn/tool-surface.ts";

/** A host that is given the pipeline which it is a part of. */
export interface LateToolHost extends ToolHost {
  use(actAs: ActAs, findEndpoint: FindEndpoint): void;
}

/** A host without a pipeline: there is nothing to call yet. */
export function createLateToolHost(): LateToolHost {
  let made: { readonly actAs: ActAs; readonly findEndpoint: FindEndpoint } | undefined;
  return {
    use: (actAs, findEndpoint) => {
      made = { actAs, findEndpoint };
    },
    findEndpoint: (method, path) => made?.findEndpoint(method, path),
    call: async ({ agent, scopes, method, path: target, input, taskId, signal }) => {
      if (made === undefined) throw new Error("the pipeline is not there yet");
      const caller = actingCaller(agent, scopes);
      return made.actAs({ caller, method, target, input, taskId, signal });
    },
  };
}
