/**
 * Finds the operator's endpoints that agents of packs use as tools: an agent silently loses a tool
 * whose method is removed.   OpenWOP RFC 0072 §D
 */
import { isRecord, listIn } from "../../base/json-value.ts";
import type { Pair } from "../../catalog/pair.ts";
import { checkTemplate } from "../../catalog/path-grammar.ts";
import { createRegistry } from "../../endpoint/endpoint-registry.ts";
import { readToolId } from "../../modules/openwop/turn/tool-calls.ts";
import type { DeploymentText } from "./deployment-texts.ts";
import type { MethodRole, Reference } from "./reference.ts";

/** A method and path, with the file that declares them. */
export interface FiledPair extends Pair {
  readonly file: string;
}

/** The pair of an endpoint with the given method; undefined if its path is invalid. */
export function pairOf({ source, within }: Reference, method: string): FiledPair | undefined {
  const { path } = within;
  if (typeof path !== "string" || checkTemplate(path, new Set()) !== undefined) return undefined;
  return { method, path, file: source.file };
}

/**
 * The tools of every pack. A tool whose path no endpoint has, under any method, is ignored; one
 * whose endpoint got another method by --fix is lost nevertheless.
 */
export function packTools(
  files: readonly DeploymentText[],
  endpoints: readonly Pair[],
): readonly Reference<MethodRole>[] {
  const { registry } = createRegistry(endpoints.map(({ path }) => ({ method: ANY, path })));
  return files
    .filter(({ kind }) => kind === "pack")
    .flatMap((source) =>
      toolsOf(source).flatMap(({ tool, key }): readonly Reference<MethodRole>[] => {
        const { method = "", path = "" } = readToolId(String(tool)) ?? {};
        if (registry.find(ANY, path) === undefined) return [];
        return [{ source, key, role: "tool", value: method, isWritten: true, within: {} }];
      }),
    );
}

const ANY = "*";

function toolsOf({ table }: DeploymentText) {
  return listIn(table["agents"]).flatMap((agent, at) => {
    const tools = isRecord(agent) ? listIn(agent["toolAllowlist"]) : [];
    return tools.map((tool, index) => ({ tool, key: `agents[${at}].toolAllowlist[${index}]` }));
  });
}
