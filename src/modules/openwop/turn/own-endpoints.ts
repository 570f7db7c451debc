/** The endpoints of this server as tools of its agents. */

import { actingCaller } from "../../../dispatch/acting.ts";
import type { OpenwopContext } from "../config.ts";
import type { ToolHost } from "./tool-host.ts";

/** They are called through the pipeline of the deployment that the agents are a part of. */
export function ownEndpoints({ dispatch }: Pick<OpenwopContext, "dispatch">): ToolHost {
  return {
    findEndpoint: (method, path) => dispatch().registry.find(method, path)?.entry.definition,
    call: async ({ agent, scopes, method, path: target, input, taskId, signal }) => {
      const caller = actingCaller(agent, scopes);
      return dispatch().actAs({ caller, method, target, input, taskId, signal });
    },
  };
}
