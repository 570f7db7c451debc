/**
 * The parts of a refused configuration that may have been meant otherwise: nothing that follows from
 * one of them is told, as it may be right once the configuration is.
 */

/** Keys that name agents or endpoints, and the sections that say which there are. */
const NAMES = [
  [
    /^(?:agents\.default|gateway\.agent|groups\..*|policies\.approvals\[\d+\]\.agent)$/,
    ["agents", "openwop", "agntcy", "agentcli"],
  ],
  [/^agents\[\d+\]\.toolAllowlist$/, ["endpoints", "recipes"]],
] as const;

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
    return this.#faults.some((key) => isIn(section, key));
  }

  /**
   * True if a module of that name reads keys of its section that may have been meant otherwise. An item
   * of a list that has an error is left out of it.
   */
  isAboutModule(name: string): boolean {
    return this.#faults.some(
      (key) => isIn(name, key) && !key.includes("[") && !OF_LISTENER.test(key),
    );
  }

  /** True for a key that names what may be there, and was not looked at. */
  isOnLost(key: string): boolean {
    return NAMES.some(
      ([keys, sections]) => keys.test(key) && sections.some((section) => this.isAbout(section)),
    );
  }
}

function isIn(section: string, key: string): boolean {
  return key.startsWith(section) && /^(?:$|[.[])/.test(key.slice(section.length));
}
