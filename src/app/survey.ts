/**
 * What is wrong with a deployment that will not be served, because of its configuration or its
 * catalog: its endpoints, recipes, handlers and agents are looked at all the same, so that an
 * operator learns of everything at once.   AGTP-API §13.2
 */
import type { Config } from "../base/config.ts";
import type { Environment } from "../base/environment.ts";
import { atOnce } from "../base/paced.ts";
import type { Problem } from "../base/problem.ts";
import { createModuleLoader } from "../handlers/module-loader.ts";
import { loadContents, openUpstreamPools } from "./contents.ts";
import { loadOperatorAgents } from "./identity-parts.ts";
import { bindOperatorRoutes } from "./operator-routes.ts";
import { readVocabulary } from "./vocabulary.ts";

/** Everything that is found by reading; nothing is kept open or written. */
export async function surveyDeployment(
  config: Config,
  env: Environment,
): Promise<readonly Problem[]> {
  const problems: Problem[] = [];
  const { vocabulary } = readVocabulary(config, problems);
  loadOperatorAgents(config, problems);
  if (vocabulary === undefined) return problems;
  const contents = loadContents(config, vocabulary, env, problems);
  const pools = await openUpstreamPools(contents.endpoints);
  const bound = await bindOperatorRoutes({
    endpoints: contents.endpoints,
    recipes: contents.recipes,
    methodPolicy: vocabulary.methodPolicy,
    loader: createModuleLoader({ root: config.handlers.root }),
    pools,
    drive: atOnce,
    handlerTimeoutMs: config.limits.handlerTimeoutMs,
  });
  await pools.close();
  return [...problems, ...bound.problems];
}
