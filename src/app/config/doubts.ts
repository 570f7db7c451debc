/**
 * The parts of a refused configuration that may have been meant otherwise: nothing that follows from
 * one of them is told, as it may be right once the configuration is.
 */

import { isError, type Problem } from "../../base/problem.ts";

/** Keys that name agents, people or endpoints, and the sections that say which there are. */
const NAMES = [
  [
    /^(?:agents\.default|gateway\.agent|groups\..*|policies\.approvals\[\d+\]\.agent)$/,
    ["agents", "openwop", "agntcy", "agentcli"],
  ],
  [/^groups\./, ["webhooks.recipients"]],
  [/^policies\.oauth$/, ["policies.oauth.jwks_uri", "policies.oauth.jwks_file"]],
  [/^agents\[\d+\]\.toolAllowlist$/, ["endpoints", "recipes"]],
] as const;

/** The issuer of a document, whom the server's own key or a list may make a trusted one. */
const ISSUER = /^(?:manifest_)?issuer_public_key$/;
const TRUST = ["signing", "policies.identity.trusted_issuers"];

/** Keys that are about a listener alone. */
const OF_LISTENER = /\.(?:cert|key)$/;

export class Doubts {
  readonly #faults: readonly string[];

  /** `faults` are the keys of the configuration's errors. */
  constructor(faults: readonly string[]) {
    this.#faults = faults;
  }

  /** True if anything of a section has an error. */
  isAbout(section: string): boolean {
    return this.#faults.some((key) => concerns(key, section));
  }

  /**
   * True if what a table says may have been meant otherwise. An item of a list that has an error is left
   * out of it.
   */
  isAboutTable(table: string): boolean {
    return this.#faults.some(
      (key) => concerns(key, table) && !key.includes("[") && !OF_LISTENER.test(key),
    );
  }

  /** True for a problem with what may be there, and was not looked at. */
  isOnLost(problem: Problem): boolean {
    const { key } = problem;
    const isOnTrust = !isError(problem) && ISSUER.test(key);
    if (isOnTrust && TRUST.some((section) => this.isAbout(section))) return true;
    return NAMES.some(
      ([keys, sections]) => keys.test(key) && sections.some((section) => this.isAbout(section)),
    );
  }
}

/** True for the key of a table, of something in it, or of what it is in. */
function concerns(key: string, table: string): boolean {
  return isIn(table, key) || isIn(key, table);
}

function isIn(section: string, key: string): boolean {
  return key.startsWith(section) && /^(?:$|[.[])/.test(key.slice(section.length));
}
