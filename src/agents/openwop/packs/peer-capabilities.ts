/**
 * What a pack needs of its host beyond running agents. A need that is not met refuses the pack,
 * unless the pack says that it can do without: then every one of its agents is degraded, and says
 * so.   OpenWOP RFC 0072 §C, RFC 0092
 */
import { isRecord, type JsonRecord } from "../../../json-value.ts";

/** What this host has of itself, whatever its configuration. */
const OWN_CAPABILITIES = [
  "agents",
  "agents.manifestRuntime",
  "agents.manifestRuntime.handoffValidation",
  "agents.reasoning",
];

/** Capabilities by their keys in the discovery document. */
export class Capabilities {
  readonly #keys: ReadonlySet<string>;

  /** `beyond`: what the operator says that there is besides. */
  constructor(beyond: readonly string[]) {
    this.#keys = new Set([...OWN_CAPABILITIES, ...beyond].map(plainKey));
  }

  has(key: string): boolean {
    return this.#keys.has(plainKey(key));
  }

  /** Those that are not there, each once. */
  missing(keys: readonly string[]): readonly string[] {
    return [...new Set(keys.filter((key) => !this.has(key)))];
  }
}

/** Older packs write `openwop.agents.manifestRuntime`, and some end in `supported`. */
function plainKey(key: string): string {
  return key.replace(/^openwop\./, "").replace(/\.supported$/, "");
}

/** What becomes of a pack's peer dependencies. */
export interface PeerDisposition {
  /** Required, and not there: the pack is refused. */
  readonly refused: readonly string[];
  /** Optional, and not there. */
  readonly degraded: readonly string[];
}

/** Judges them one by one; what nothing is said of is required. */
export function judgePeers(manifest: JsonRecord, capabilities: Capabilities): PeerDisposition {
  const peers = isRecord(manifest["peerDependencies"]) ? manifest["peerDependencies"] : {};
  const meta = isRecord(manifest["peerDependenciesMeta"]) ? manifest["peerDependenciesMeta"] : {};
  const unmet = Object.keys(peers).filter((key) => !capabilities.has(key));
  const isOptional = (key: string): boolean => {
    const entry = Object.hasOwn(meta, key) ? meta[key] : undefined;
    return isRecord(entry) && entry["optional"] === true;
  };
  return {
    refused: unmet.filter((key) => !isOptional(key)),
    degraded: unmet.filter(isOptional),
  };
}
