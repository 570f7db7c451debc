/**
 * Chooses the deployment option of an agent and decides if it can be called: a remote service, or a deployment whose
 * address the operator configures. This server deploys neither source code nor images.   Agent Manifest "Agent
 * Deployment and Consumption"
 */
import { suggest } from "../../base/close-matches.ts";
import { quoteValue } from "../../base/json-value.ts";
import type { AgentManifest, DeploymentOption, RemoteService } from "./manifest/manifest.ts";
import { variablePrefix } from "./upstream.ts";

/** An option as shown to callers. */
export interface OptionView {
  readonly name?: string;
  readonly type: DeploymentOption["type"];
  readonly callable: boolean;
  /** The reason that it cannot be called. */
  readonly reason?: string;
}

export type Choice =
  | { readonly kind: "callable"; readonly option: OptionView; readonly service: RemoteService }
  | { readonly kind: "declared"; readonly option: OptionView | undefined; readonly reason: string }
  | { readonly kind: "unknown"; readonly message: string; readonly hint?: string };

/**
 * Finds an option by name, or else the first callable one, or else the first. `endpoint` is the operator's address and
 * overrides the manifest's.
 */
export function chooseOption(
  manifest: AgentManifest,
  name: string | undefined,
  endpoint: string | undefined,
): Choice {
  const { options } = manifest;
  const views = options.map((option) => ({ option, view: viewOption(manifest, option, endpoint) }));
  const chosen =
    name === undefined
      ? (views.find(({ view }) => view.callable) ?? views[0])
      : views.find(({ option }) => option.name === name);
  if (chosen === undefined) return name === undefined ? lonely(endpoint) : unknown(manifest, name);
  const { option, view } = chosen;
  if (!view.callable) return { kind: "declared", option: view, reason: view.reason ?? "" };
  const service = option.type === "remote_service" ? option : { url: "" };
  return {
    kind: "callable",
    option: view,
    service: endpoint === undefined ? service : { ...service, url: endpoint },
  };
}

/** Views of all options in the manifest's order. */
export function viewOptions(
  manifest: AgentManifest,
  endpoint: string | undefined,
): readonly OptionView[] {
  return manifest.options.map((option) => viewOption(manifest, option, endpoint));
}

function viewOption(
  manifest: AgentManifest,
  { type, name }: DeploymentOption,
  endpoint: string | undefined,
): OptionView {
  const named = name === undefined ? {} : { name };
  if (type === "remote_service" || endpoint !== undefined)
    return { ...named, type, callable: true };
  const what = type === "docker" ? "a docker image" : "source code";
  const reason =
    `the deployment option is ${what}, which this server does not deploy; where it runs, ` +
    `the operator names its address in ${variablePrefix(manifest.name)}ENDPOINT`;
  return { ...named, type, callable: false, reason };
}

/** The choice for an ACP descriptor, which has no options. */
function lonely(endpoint: string | undefined): Choice {
  const option = { type: "remote_service", callable: true } as const;
  if (endpoint !== undefined) return { kind: "callable", option, service: { url: endpoint } };
  const reason = "the manifest has no deployment option";
  return { kind: "declared", option: undefined, reason };
}

function unknown({ options }: AgentManifest, name: string): Choice {
  const names = options.flatMap((option) => option.name ?? []);
  const message = `no deployment option is called ${quoteValue(name)}`;
  const hint = suggest(name, names) ?? (names.length === 0 ? "none has a name" : undefined);
  return { kind: "unknown", message, ...(hint === undefined ? {} : { hint }) };
}
