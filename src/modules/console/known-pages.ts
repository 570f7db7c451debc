/** Tells of the pages of an id which have something to show. */
import type { AssembledDeployment } from "../../dispatch/module/module.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { ServerState } from "../../state/state.ts";
import type { Traffic } from "./traffic.ts";
import { findEndpoint } from "./views/endpoints.ts";
import { hasChain, type RecordParts } from "./views/records.ts";

/** The sources of the pages. */
export interface KnownParts extends RecordParts {
  readonly state: RecordParts["state"] & Pick<ServerState, "escalations">;
  readonly directory: AgentDirectory;
  readonly traffic: Pick<Traffic, "find">;
  served(): AssembledDeployment;
}

/** True for pages without an id. */
export function isKnownPage(
  { state, directory, traffic, served, ...parts }: KnownParts,
  [page = "", ...rest]: readonly string[],
): boolean | Promise<boolean> {
  const [id, ...more] = rest;
  if (id === undefined) return true;
  switch (page) {
    case "traffic":
      return traffic.find(id) !== undefined;
    case "approvals":
      return state.escalations.find(id) !== undefined;
    case "agents":
      return directory.find(id) !== undefined;
    case "records":
      return hasChain({ ...parts, state, directory }, id);
    default:
      return (
        findEndpoint(served().listed, { method: id, path: `/${more.join("/")}` }) !== undefined
      );
  }
}
