/**
 * The parts of a refused configuration that may have been meant otherwise: nothing that follows from
 * one of them is told, as it may be right once the configuration is.
 */

/** Keys that name an agent. */
const NAMES_AGENT =
  /^(?:agents\.default|gateway\.agent|groups\..*|policies\.approvals\[\d+\]\.agent)$/;

/** Keys that are about a listener alone. */
const OF_LISTENER = /\.(?:cert|key)$/;

/** Sections that say which agents there are. */
const HAS_AGENTS = ["agents", "openwop", "agntcy", "agentcli"] as const;

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

  /** True for a key whose agent may be one that is not looked at. */
  isOnAgent(key: string): boolean {
    return NAMES_AGENT.test(key) && HAS_AGENTS.some((section) => this.isAbout(section));
  }
}

function isIn(section: string, key: string): boolean {
  return key.startsWith(section) && /^(?:$|[.[])/.test(key.slice(section.length));
}
