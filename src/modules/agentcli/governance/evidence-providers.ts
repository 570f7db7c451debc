/**
 * The evidence providers that this program has: none, and a signature of OpenSSH.
 * agentcli execution identity "Evidence"
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { ProfileFault } from "../manifest/profile-fault.ts";

/** The evidence that a provider can give. */
interface EvidenceProvider {
  readonly methods: readonly string[];
  readonly capabilities: JsonRecord;
  /** The keys of `provider_config` that it reads. */
  readonly settings: readonly string[];
  /** The settings that the profile lacks; nothing is read. */
  check(profile: JsonRecord): readonly ProfileFault[];
}

const SSH_METHODS = ["ssh-signature"];

const none: EvidenceProvider = {
  methods: [],
  capabilities: { methods: [], payload_formats: [] },
  settings: [],
  check: ({ verify }) =>
    isRecord(verify) && verify["required"] === true
      ? [["verify.required", 'provider "none" cannot satisfy verify.required: true']]
      : [],
};

const ssh: EvidenceProvider = {
  methods: SSH_METHODS,
  capabilities: { methods: SSH_METHODS, payload_formats: ["canonical-json"] },
  settings: ["signing_key"],
  check: ({ methods }) => {
    const wanted = Array.isArray(methods) ? methods : [];
    const unknown = wanted.findIndex((method) => !SSH_METHODS.includes(String(method)));
    return unknown === -1
      ? []
      : [[`methods[${unknown}]`, `must be one of: ${SSH_METHODS.join(", ")}`]];
  },
};

/** By name, in the order in which they are listed. */
export const EVIDENCE_PROVIDERS: ReadonlyMap<string, EvidenceProvider> = new Map([
  ["none", none],
  ["ssh", ssh],
]);
