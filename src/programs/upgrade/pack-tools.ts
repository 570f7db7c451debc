/**
 * The operator's endpoints that agents of packs have as tools: an agent whose tool has no method any more
 * goes on without it, and nobody is told.   OpenWOP RFC 0072 §D
 */
import { isRecord, listIn } from "../../base/json-value.ts";
import type { Pair } from "../../catalog/pair.ts";
import { checkTemplate } from "../../catalog/path-grammar.ts";
import { createRegistry } from "../../endpoint/endpoint-registry.ts";
import { readToolId } from "../../modules/openwop/turn/tool-calls.ts";
import type { DeploymentText } from "./deployment-texts.ts";
import type { MethodRole, Reference } from "./reference.ts";

/** A pair, and the file that it stands in. */
export interface FiledPair extends Pair {
  readonly file: string;
}

/** The pair of an endpoint under some method; undefined where its path is none. */
export function pairOf({ source, within }: Reference, method: string): FiledPair | undefined {
  const { path } = within;
  if (typeof path !== "string" || checkTemplate(path, new Set()) !== undefined) return undefined;
  return { method, path, file: source.file };
}

/**
 * Those of all packs. A tool whose path no endpoint has, whatever its method, is nobody's loss; where --fix
 * gave the endpoint another method, the tool is lost all the same.
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
