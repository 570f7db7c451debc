/**
 * The server under test as cases see it: the values that they name, and the needs that are not met,
 * each with its reason. A need that the server itself should have met makes its cases fail.
 *
 * A value is named after the need that it meets, with underscores: `{{known_path.method}}`.
 */

import type { JsonRecord } from "../../base/json-value.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import { type Identity, identityLines, type Lines, plainScopes } from "./ask.ts";
import { NEEDS, type Need } from "./case.ts";
import { manifestNeeds } from "./manifest-needs.ts";
import type { Found, Survey } from "./survey.ts";
import type { Subject } from "./trial.ts";

interface Belongings {
  readonly identity: Identity;
  /** The catalog of the version that the server should use. */
  readonly catalog: Catalog;
  /** An endpoint that the server can make. */
  readonly proposal?: Proposal | undefined;
}

/** An endpoint that is proposed, and input that it is called with. */
export interface Proposal {
  readonly endpoint: JsonRecord;
  readonly input: JsonRecord | undefined;
}

interface Lack {
  readonly reason: string;
  /** It is the server's fault: the cases are not skipped, they fail. */
  readonly isFault: boolean;
}

/** The names that cases can use, and the needs that cannot be met. */
export interface TestSubject {
  readonly values: Subject;
  readonly lacking: ReadonlyMap<Need, Lack>;
}

/** Needs that are met by who runs the suite, or by DISCOVER /patterns. */
const BROUGHT: readonly Need[] = ["agent", "other-agent", "scopes", "proposal", "proposal-input"];
const NEGOTIATION: readonly Need[] = ["rcns", "no-rcns"];

/** Puts together what cases can ask about. */
export function prepareSubject(survey: Survey, belongings: Belongings): TestSubject {
  const { identity, catalog, proposal } = belongings;
  const { manifest, inventory, patterns } = survey;
  const claimed: Subject =
    manifest.kind === "missing"
      ? {}
      : manifestNeeds(manifest.value, { catalog, held: identity.scopes, inventory });
  const met: Subject = {
    ...identityNeeds(identity),
    ...negotiationNeeds(patterns),
    ...claimed,
    caller: identity.agentId ?? (isOpen(manifest, claimed) ? true : undefined),
    proposal: proposal?.endpoint,
    "proposal-input": proposal?.input,
  };
  const needs = Object.keys(NEEDS) as readonly Need[];
  const lacking = needs
    .filter((need) => met[need] === undefined)
    .map((need) => [need, lackOf(need, survey)] as const);
  const named = Object.entries(met).map(([need, value]) => [need.replaceAll("-", "_"), value]);
  const lines = identityLines(identity);
  const reader =
    claimed["closed-discovery"] === undefined ? lines["anyone"] : byType(lines["agent"]);
  const values = { ...Object.fromEntries(named), ...lines, reader, ...ids(identity) };
  return { values, lacking: new Map(lacking) };
}

/** An agent gets the manifest by its media type. */
function byType(lines: Lines = () => []): Lines {
  return () => [...lines(), "Accept: application/vnd.agtp.manifest+json"];
}

/** Discovery without an agent is allowed, or nothing is known against it. */
function isOpen(manifest: Found<JsonRecord>, claimed: Subject): boolean {
  if (manifest.kind === "missing") return !manifest.isRefused;
  return claimed["closed-discovery"] === undefined;
}

/** A path that nobody has registered, and an id that nobody has. */
function ids({ agentId, otherAgentId }: Identity): Subject {
  return {
    agent_id: agentId,
    other_agent_id: otherAgentId,
    unknown: `/conformance-${uuidv7()}`,
    unknown_id: `conformance-${uuidv7()}`,
    run_key: uuidv7(),
  };
}

function identityNeeds({ agentId, otherAgentId, scopes }: Identity): Subject {
  const canNarrow = scopes !== undefined && plainScopes(scopes).length > 0;
  return {
    agent: agentId,
    "other-agent": otherAgentId,
    scopes: agentId !== undefined && canNarrow ? scopes : undefined,
  };
}

function negotiationNeeds(patterns: Found<JsonRecord>): Subject {
  const isEnabled = patterns.kind === "found" ? patterns.value["rcns_enabled"] : undefined;
  return {
    rcns: isEnabled === true ? true : undefined,
    "no-rcns": isEnabled === false ? true : undefined,
  };
}

function lackOf(need: Need, { manifest, patterns }: Survey): Lack {
  const unmet: Lack = { reason: `it needs ${NEEDS[need]}`, isFault: false };
  if (BROUGHT.includes(need)) return unmet;
  const isNegotiation = NEGOTIATION.includes(need);
  const source = isNegotiation ? patterns : manifest;
  if (source.kind === "found") return unmet;
  const document = isNegotiation ? "DISCOVER /patterns" : "the server's manifest";
  // Without patterns a server does not negotiate, which is its right.
  const isFault = !isNegotiation && !source.isRefused;
  return { reason: `${document} ${source.reason}`, isFault };
}
