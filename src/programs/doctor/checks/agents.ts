/** Agents: their grants, and the validity of their documents. */
import type { JsonRecord } from "../../../base/json-value.ts";
import { isTable } from "../../../base/toml-document.ts";
import type { AgentDocument } from "../../../identity/agent-document.ts";
import type { Check, Observation, Subject } from "../check.ts";

const NARROWER = "name the scopes that are needed";

/** In the order in which they are asked. */
export const AGENTS_CHECKS: readonly Check[] = [
  // Grants have no end: methods beyond the catalog, and scopes with an asterisk.
  {
    id: "wildcards",
    asks: "are grants as narrow as they can be?",
    look: (subject) => {
      const { config, configFile, agents } = subject;
      return [
        ...(config.policies.wildcardsAccepted ? [methodsBeyondCatalog(configFile)] : []),
        ...agents.flatMap(({ file, scopes }) => judgeScopes(file, "scopes_accepted", scopes)),
        ...grantedScopes(subject).flatMap(({ key, scopes }) =>
          judgeScopes(configFile, key, scopes),
        ),
      ];
    },
  },
  // Agents look hosted and can do nothing: their issuers are not, or no longer, trusted.
  // AGTP-TRUST "Trust Anchors"
  {
    id: "issuer-trust",
    asks: "are the issuers of agents trusted?",
    look: ({ agents }) => agents.flatMap(judgeIssuer),
  },
  // Documents of agents are over by their own word, which the drafts have no member for and the
  // daemon therefore does not read; or agents are hosted and no longer active.
  {
    id: "agent-documents",
    asks: "are the documents of agents still good?",
    look: ({ agents, machine: { now } }) =>
      agents.flatMap((agent) => [
        ...checkEnd(agent.file, agent.document, now),
        ...(agent.genesis === undefined
          ? []
          : checkEnd(agent.genesis.file, agent.genesis.document, now)),
        ...checkStatus(agent),
      ]),
  },
];

function methodsBeyondCatalog(file: string): Observation {
  return {
    severity: "warning",
    file,
    key: "policies.wildcards_accepted",
    message:
      "is true: the manifest invites methods that the catalog does not have, which are refused with 459",
    hint: "set it to false, and name methods of your own in policies.methods.custom",
  };
}

function grantedScopes({ config: { peers, openwop } }: Subject) {
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

function judgeScopes(file: string, key: string, scopes: readonly string[]): readonly Observation[] {
  const wild = scopes.filter((scope) => scope.includes("*"));
  const all = wild.filter((scope) => /^\*(?::\*)*$/.test(scope));
  if (wild.length === 0) return [];
  const names = (all.length > 0 ? all : wild).slice(0, 5).join(", ");
  return all.length > 0
    ? [{ severity: "warning", file, key, message: `${names} grants everything`, hint: NARROWER }]
    : [
        {
          severity: "note",
          file,
          key,
          message: `${names} grants more than it names`,
          hint: NARROWER,
        },
      ];
}

const TRUSTED_ISSUER =
  "list the issuer in policies.identity.trusted_issuers, or take away what a revoked one signed";

function judgeIssuer({ file, signature, genesis }: AgentDocument): readonly Observation[] {
  const untrusted: Observation[] = [];
  if (signature === "untrusted") {
    const message =
      "is signed by an issuer that is not trusted: the agent holds none of its scopes";
    untrusted.push({
      ...{ severity: "warning", file, key: "manifest_issuer_public_key" },
      ...{ message, hint: TRUSTED_ISSUER },
    });
  }
  if (genesis !== undefined && !genesis.isTrusted) {
    const message = "is signed by an issuer that is not trusted: what it says of trust is ignored";
    untrusted.push({
      ...{ severity: "warning", file: genesis.file, key: "issuer_public_key" },
      ...{ message, hint: TRUSTED_ISSUER },
    });
  }
  return untrusted;
}

const DAY_MS = 86_400_000;
const SOON_MS = 30 * DAY_MS;
/** The members in which issuers write the end of a document. */
const ENDS = ["expires_at", "expires", "valid_until", "not_after"];

function checkEnd(file: string, document: JsonRecord, now: number): readonly Observation[] {
  return ENDS.flatMap((key): readonly Observation[] => {
    const written = document[key];
    const end = typeof written === "string" ? Date.parse(written) : Number.NaN;
    if (Number.isNaN(end) || end - now >= SOON_MS) return [];
    const place = { file, key };
    const date = new Date(end).toISOString();
    if (end <= now) {
      const message = `was over at ${date}; the daemon does not look at it and serves the agent`;
      const hint = "have the issuer sign a new document, or take the file away";
      return [{ ...place, severity: "error", message, hint }];
    }
    const message = `will be over at ${date}`;
    return [
      { ...place, severity: "warning", message, hint: "have the issuer sign a new document" },
    ];
  });
}

function checkStatus({ file, status }: AgentDocument): readonly Observation[] {
  if (status === "active") return [];
  const message = `is "${status}" and still hosted here`;
  const hint = "take the file away, unless its history is to be looked up here";
  return [{ severity: "note", file, key: "status", message, hint }];
}
