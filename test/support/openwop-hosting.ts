/** A whole server whose OpenWOP agents a test has in its hand: their executor, or who starts their runs. */
import { MODULES } from "../../src/app/modules.ts";
import type { Module } from "../../src/dispatch/module/module.ts";
import type { DispatchOptions } from "../../src/modules/openwop/agent-endpoints.ts";
import type { OpenwopSections } from "../../src/modules/openwop/config.ts";
import { hostAgents, type OpenwopAgents } from "../../src/modules/openwop/host-agents.ts";
import { hostRuns } from "../../src/modules/openwop/host-runs.ts";
import { contributeOpenwop, openwopModule } from "../../src/modules/openwop/module.ts";
import { openOpenwop } from "../../src/modules/openwop/state.ts";
import type { DeploymentFiles } from "./deployment.ts";
import { openServer, type TestServer, type TestServerOptions } from "./dispatch.ts";

/** The server, and its agents. */
export interface HostingServer extends TestServer {
  readonly openwop: OpenwopAgents;
}

/** The methods of `dispatchHost` take the place of those of the host of runs. */
export async function openHosting(
  files: DeploymentFiles,
  dispatchHost?: DispatchOptions["host"],
  options: TestServerOptions = {},
): Promise<HostingServer> {
  let openwop: OpenwopAgents | undefined;
  const module: Module<OpenwopSections> = {
    ...openwopModule,
    provision: async (context) => {
      const kept = await context.once(openOpenwop);
      openwop = await hostAgents(context, kept);
      const runs = await hostRuns(context, openwop, kept);
      Object.assign(runs.host, dispatchHost);
      return contributeOpenwop(context, { openwop, kept, runs });
    },
  };
  const modules = MODULES.map((one) => (one.name === "openwop" ? module : one));
  const server = await openServer(files, { ...options, modules });
  if (openwop === undefined) throw new Error("the module was not provisioned");
  return { ...server, openwop };
}
