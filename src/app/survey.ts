/**
 * The fault of a deployment that will not be served, because of its configuration or its
 * catalog: its endpoints, recipes, handlers and agents are looked at all the same, so that an
 * operator learns of everything at once.   AGTP-API §13.2
 */

import type { Environment } from "../base/environment.ts";
import type { Drive } from "../base/paced.ts";
import type { Problem } from "../base/problem.ts";
import type { McpServers } from "../handlers/call-upstream.ts";
import { createModuleLoader, withProcesses } from "../handlers/module-loader.ts";
import { chooseGatewayAgent } from "../modules/gateway/gateway-agent.ts";
import type { Config } from "./config/config.ts";
import { loadingContents, openUpstreamPools } from "./contents.ts";
import { loadingOperatorAgents } from "./identity-parts.ts";
import { bindOperatorRoutes } from "./operator-routes.ts";
import { readVocabulary } from "./vocabulary.ts";

/** Everything that is found by reading; nothing is kept open or written. */
export async function surveyDeployment(
  config: Config,
  env: Environment,
  drive: Drive,
): Promise<readonly Problem[]> {
  const problems: Problem[] = [];
  const { vocabulary } = readVocabulary(config, problems);
  const agents = (await drive(loadingOperatorAgents(config, problems))) ?? [];
  const speaker = chooseGatewayAgent(config, agents);
  if (speaker.kind === "refused") problems.push(speaker.problem);
  if (vocabulary === undefined) return problems;
  const contents = await drive(loadingContents(config, vocabulary, env, problems));
  const pools = await openUpstreamPools(contents.endpoints);
  const bound = await bindOperatorRoutes({
    endpoints: contents.endpoints,
    recipes: contents.recipes,
    methodPolicy: vocabulary.methodPolicy,
    loader: withProcesses(createModuleLoader({ root: config.handlers.root }), {
      names: config.processes.map(({ name }) => name),
      find: () => ({ handler: never, call: never }),
    }),
    pools,
    mcpServers: namedServers(config),
    drive,
    handlerTimeoutMs: config.limits.handlerTimeoutMs,
  });
  await pools.close();
  return [...problems, ...bound.problems];
}

/** Endpoints that are never called are bound to it. */
function never(): never {
  throw new Error("nothing is served");
}

/** Servers by name, to bind endpoints that are never called. */
function namedServers({ mcp }: Config): McpServers {
  const names = mcp.servers.map(({ name }) => name);
  return {
    names,
    timeoutMs: () => undefined,
    bind: ({ server }) => (names.includes(server) ? never : undefined),
  };
}
