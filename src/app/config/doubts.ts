/**
 * The doubtful parts of a refused configuration: their errors may hide the intended value, so that
 * problems which follow from them are not reported.
 */

import { isError, type Problem } from "../../base/problem.ts";

/** Keys that name agents, people or endpoints, with the sections that define those. */
const NAMES = [
  [
    /^(?:agents\.default|gateway\.agent|groups\..*|policies\.approvals\[\d+\]\.agent)$/,
    ["agents", "openwop", "agntcy", "agentcli"],
  ],
  [/^groups\./, ["webhooks.recipients"]],
  [/^policies\.oauth$/, ["policies.oauth.jwks_uri", "policies.oauth.jwks_file"]],
  [/^agents\[\d+\]\.toolAllowlist$/, ["endpoints", "recipes"]],
] as const;

/** The keys of a document's issuer, which the server's own key or a list may make trusted. */
const ISSUER = /^(?:manifest_)?issuer_public_key$/;
const TRUST = ["signing", "policies.identity.trusted_issuers"];

/** Keys that concern only a listener. */
const OF_LISTENER = /\.(?:cert|key)$/;

export class Doubts {
  readonly #faults: readonly string[];

  /** Takes the keys of the configuration's errors. */
  constructor(faults: readonly string[]) {
    this.#faults = faults;
  }

  /** True if a section, or anything in it, has an error. */
  isAbout(section: string): boolean {
    return this.#faults.some((key) => concerns(key, section));
  }

  /** True if a table's own values are doubtful. An erroneous item of a list is left out instead. */
  isAboutTable(table: string): boolean {
    return this.#faults.some(
      (key) => concerns(key, table) && !key.includes("[") && !OF_LISTENER.test(key),
    );
  }

  /** True for a problem that names something which may exist, but was not loaded. */
  isOnLost(problem: Problem): boolean {
    const { key } = problem;
    const isOnTrust = !isError(problem) && ISSUER.test(key);
    if (isOnTrust && TRUST.some((section) => this.isAbout(section))) return true;
    return NAMES.some(
      ([keys, sections]) => keys.test(key) && sections.some((section) => this.isAbout(section)),
    );
  }
}

/** True for the key of a table, of its content, or of a table that contains it. */
function concerns(key: string, table: string): boolean {
  return isIn(table, key) || isIn(key, table);
}

function isIn(section: string, key: string): boolean {
  return key.startsWith(section) && /^(?:$|[.[])/.test(key.slice(section.length));
}
