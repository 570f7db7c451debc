/**
 * The demands of workflows and tasks on the providers that they refer to: settings that nobody
 * reads, and modes or handoffs that the provider does not have, wherever in profile, workflow or
 * task they are said. Such a task could only fail.   agentcli spec "Providers"
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { AUTHORIZATION_PROVIDERS } from "../governance/authorization-providers.ts";
import { findUnable } from "../identity/provider-limits.ts";
import { IDENTITY_PROVIDERS } from "../identity/providers.ts";
import { checkSettings } from "./check-providers.ts";
import { records } from "./check-references.ts";
import type { Findings } from "./finding.ts";

/** A block that says something, and where it stands. */
type Layer = readonly [path: string, block: JsonRecord];

/** Checks every workflow, task and handler of failures. */
export function checkProviderUse(findings: Findings, manifest: JsonRecord): void {
  const reported = new Set<string>();
  const fail = (path: string, message: string): void => {
    // One line for what many tasks inherit.
    if (reported.has(`${path} ${message}`)) return;
    reported.add(`${path} ${message}`);
    findings.error(path, message);
  };
  for (const [path, workflow] of records("$.workflows", manifest["workflows"])) {
    checkScope([[path, workflow]], manifest, fail);
    for (const [place, task] of records(`${path}.tasks`, workflow["tasks"])) {
      checkScope(
        [
          [place, task],
          [path, workflow],
        ],
        manifest,
        fail,
      );
      const handler = task["on_failure"];
      if (!isRecord(handler)) continue;
      checkScope(
        [
          [`${place}.on_failure`, handler],
          [path, workflow],
        ],
        manifest,
        fail,
      );
    }
  }
}

type Fail = (path: string, message: string) => void;

/** Scopes come narrowest first. */
function checkScope(scopes: readonly Layer[], manifest: JsonRecord, fail: Fail): void {
  checkIdentity(layersOf(scopes, "identity", "identity_profiles", manifest), fail);
  checkAuthorization(layersOf(scopes, "authorization", "authorization_profiles", manifest), fail);
}

/** The blocks of a kind, the profile that they refer to behind them. */
function layersOf(
  scopes: readonly Layer[],
  block: string,
  list: string,
  manifest: JsonRecord,
): readonly Layer[] {
  const own = scopes.flatMap(([path, scope]): Layer[] => {
    const value = scope[block];
    return isRecord(value) ? [[`${path}.${block}`, value]] : [];
  });
  const ref = own.map(([, { ref: name }]) => name).find((name) => typeof name === "string");
  const profile = records(`$.${list}`, manifest[list]).find(([, { id }]) => id === ref);
  return ref === undefined || profile === undefined ? own : [...own, profile];
}

function checkIdentity(layers: readonly Layer[], fail: Fail): void {
  const provider = IDENTITY_PROVIDERS.get(String(layers.at(-1)?.[1]["provider"]));
  if (provider === undefined) return;
  const [mode, handoff] = [find(layers, "auth", "mode"), find(layers, "presentation", "handoff")];
  const asked = {
    auth: { mode: mode?.value ?? null },
    presentation: { handoff: handoff?.value ?? null },
  };
  for (const { field, message } of findUnable(asked, provider.capabilities)) {
    fail(`${field === "auth.mode" ? mode?.path : handoff?.path}.${field}`, message);
  }
  for (const [path, block] of layers.slice(0, -1)) {
    const auth = isRecord(block["auth"]) ? block["auth"] : {};
    for (const [key, message] of checkSettings(auth["provider_config"], provider.settings)) {
      fail(`${path}.auth.provider_config.${key}`, message);
    }
  }
}

function checkAuthorization(layers: readonly Layer[], fail: Fail): void {
  const provider = AUTHORIZATION_PROVIDERS.get(String(layers.at(-1)?.[1]["provider"]));
  if (provider === undefined) return;
  for (const [path, block] of layers.slice(0, -1)) {
    for (const [key, message] of checkSettings(block["provider_config"], provider.settings)) {
      fail(`${path}.provider_config.${key}`, message);
    }
  }
}

/** The narrowest layer that says it. */
function find(
  layers: readonly Layer[],
  block: string,
  member: string,
): { readonly path: string; readonly value: string } | undefined {
  for (const [path, layer] of layers) {
    const inner = layer[block];
    const value = isRecord(inner) ? inner[member] : undefined;
    if (typeof value === "string" && value !== "") return { path, value };
  }
  return undefined;
}
