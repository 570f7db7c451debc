/** Grants that nobody can see the end of: methods beyond the catalog, and scopes with an asterisk. */

import { isTable } from "../../../base/toml-document.ts";
import type { Check, Observation } from "../finding.ts";
import type { Subject } from "../subject.ts";

const REMEDY = "name the scopes that are needed";

/** The check `wildcards`. */
export const wildcards: Check = {
  id: "wildcards",
  asks: "are grants as narrow as they can be?",
  look: (subject) => {
    const { config, configFile, agents } = subject;
    return [
      ...(config.policies.wildcardsAccepted ? [methodsBeyondCatalog(configFile)] : []),
      ...agents.flatMap(({ file, scopes }) => judge(file, "scopes_accepted", scopes)),
      ...grantedScopes(subject).flatMap(({ key, scopes }) => judge(configFile, key, scopes)),
    ];
  },
};

function methodsBeyondCatalog(file: string): Observation {
  return {
    severity: "warning",
    file,
    key: "policies.wildcards_accepted",
    message:
      "is true: the manifest invites methods that the catalog does not have, which are refused with 459",
    remedy: "set it to false, and name methods of your own in policies.methods.custom",
  };
}

interface Grant {
  readonly key: string;
  readonly scopes: readonly string[];
}

/** What the configuration itself hands out. */
function grantedScopes({ config: { peers, openwop } }: Subject): readonly Grant[] {
  const agents = isTable(openwop["agents"]) ? Object.entries(openwop["agents"]) : [];
  return [
    ...peers.flatMap(({ scopes, acceptScopes }, index) => [
      { key: `peers[${index}].scopes`, scopes },
      { key: `peers[${index}].accept_scopes`, scopes: acceptScopes },
    ]),
    ...agents.map(([name, grant]) => {
      const scopes = isTable(grant) && Array.isArray(grant["scopes"]) ? grant["scopes"] : [];
      return { key: `openwop.agents.${JSON.stringify(name)}.scopes`, scopes };
    }),
  ];
}

function judge(file: string, key: string, scopes: readonly string[]): readonly Observation[] {
  const wild = scopes.filter((scope) => scope.includes("*"));
  const all = wild.filter((scope) => /^\*(?::\*)*$/.test(scope));
  if (wild.length === 0) return [];
  const names = (all.length > 0 ? all : wild).slice(0, 5).join(", ");
  return all.length > 0
    ? [{ severity: "warning", file, key, message: `${names} grants everything`, remedy: REMEDY }]
    : [
        {
          severity: "note",
          file,
          key,
          message: `${names} grants more than it names`,
          remedy: REMEDY,
        },
      ];
}
