/** INSPECT and the lifecycle of agents: what reads or changes the state of this server.   AGTP "Method Floor" */
import { recordContractEvents } from "../../dispatch/contracts/contract-events.ts";
import { describeBy, floorEndpoints } from "../../dispatch/floor.ts";
import type { Module } from "../../dispatch/module.ts";
import { protocolRoutes } from "../../dispatch/protocol-endpoint.ts";
import type { FloorSections } from "./config.ts";
import { agentLifecycleEndpoints, keptMethods } from "./kept-methods.ts";

export const floorModule: Module<FloorSections> = {
  name: "floor",
  takes: { policies: true },
  async provision(context) {
    const { config, state, attempts, recipes } = context;
    const describe = describeBy(context.catalog);
    const methods = keptMethods({
      ...context,
      policy: config.policies.identity,
      contracts: {
        ...{ register: state.contracts, attempts, recipes, rcns: config.policies.rcns },
        record: recordContractEvents(context),
      },
    });
    const onAgents = agentLifecycleEndpoints(methods, describe);
    return {
      routes: protocolRoutes([...floorEndpoints(methods, describe), ...onAgents], context),
      features: ["lifecycle"],
    };
  },
};
