/**
 * Reads one pack: its manifest, signature, needs and agents. A fault of the manifest refuses the pack, a fault of an
 * agent only that agent.   OpenWOP "Node Packs", RFC 0003, RFC 0072 §C
 */
import { intersects, validRange } from "semver";
import { fromPointer, joinIndex } from "../../../base/dotted-key.ts";
import {
  given,
  isRecord,
  type JsonRecord,
  quoteValue,
  recordIn,
  textIn,
} from "../../../base/json-value.ts";
import type { Problem } from "../../../base/problem.ts";
import { type Ed25519PublicKey, verifyDetached } from "../../../identity/ed25519.ts";
import { parseBoundedJson } from "../../../identity/json-document.ts";
import { type MeteredCheck, prepareMeteredCheck } from "../../../schema/metered-schema.ts";
import type { SchemaViolation } from "../../../schema/schema-violation.ts";
import type {
  InstalledAgent,
  InstalledPack,
  ManifestClass,
  PackIdentity,
} from "../installed-agent.ts";
import { AGENT_SCHEMA, PACK_SCHEMA } from "./pack-schema.ts";
import { type Capabilities, judgePeers } from "./peer-capabilities.ts";
import { type PackFiles, readAgent } from "./read-agent.ts";

export interface PackRules {
  readonly capabilities: Capabilities;
  readonly signatures: SignaturePolicy;
  /** The reason that no model serves a class. */
  modelFault(modelClass: ManifestClass): string | undefined;
}

export interface PackPlace {
  readonly files: PackFiles;
  readonly tenant: string | undefined;
  /** Its pack.json, relative to the deployment directory. */
  readonly file: string;
}

/** A pack, or undefined if it is refused. */
interface ReadPack {
  readonly pack: InstalledPack | undefined;
  readonly problems: readonly Problem[];
}

export const MANIFEST_NAME = "pack.json";
const MAX_MANIFEST_BYTES = 1_048_576;
/** The supported protocol versions. */
const OPENWOP_VERSIONS = "1.x";

/** Reads packs; the manifest checks are compiled once. */
export class PackReader {
  readonly #rules: PackRules;
  readonly #checkPack: MeteredCheck = prepareMeteredCheck(PACK_SCHEMA);
  readonly #checkAgent: MeteredCheck = prepareMeteredCheck(AGENT_SCHEMA);

  constructor(rules: PackRules) {
    this.#rules = rules;
  }

  read(place: PackPlace): ReadPack {
    const problems: Problem[] = [];
    const report = (key: string, message: string, severity?: "warning"): void => {
      problems.push({ file: place.file, key, message, ...given({ severity }) });
    };
    const { value: text, fault } = place.files.readText(MANIFEST_NAME, MAX_MANIFEST_BYTES);
    const parsed = text === undefined ? { fault } : parseBoundedJson(text);
    if (text === undefined || parsed.fault !== undefined || !isRecord(parsed.value)) {
      report("", parsed.fault ?? "must be a JSON object");
      return { pack: undefined, problems };
    }
    const manifest = parsed.value;
    reportViolations(this.#checkPack(manifest), manifest, "", report);
    if (problems.length > 0) return { pack: undefined, problems };
    const signature = checkSignature(manifest, text, place.files, this.#rules.signatures);
    if (signature !== undefined) report(signature.key, signature.message, signature.severity);
    checkContent(manifest, report);
    const { refused, degraded } = judgePeers(manifest, this.#rules.capabilities);
    for (const { key, lack } of refused) {
      const message = `pack_peer_dependency_missing: the pack requires ${quoteValue(key)}, ${lack}`;
      report("peerDependencies", message);
    }
    if (problems.some(({ severity }) => severity === undefined)) {
      return { pack: undefined, problems };
    }
    const identity = {
      name: String(manifest["name"]),
      version: String(manifest["version"]),
      ...{ tenant: place.tenant, file: place.file },
    };
    const agents = this.#readAgents(manifest, { ...place, identity, degraded }, report);
    // The ranges are judged after all packs are read.
    const dependencies = recordIn(manifest["dependencies"]) as InstalledPack["dependencies"];
    return { pack: { ...identity, manifest, dependencies, agents }, problems };
  }

  #readAgents(
    manifest: JsonRecord,
    { files, identity, degraded }: PackPlace & AgentsOf,
    report: Report,
  ): readonly InstalledAgent[] {
    const { capabilities, modelFault } = this.#rules;
    const around = { pack: identity, files, capabilities, degraded, modelFault };
    const entries = Array.isArray(manifest["agents"]) ? manifest["agents"] : [];
    return entries.flatMap((entry: JsonRecord, index) => {
      const key = joinIndex("agents", index);
      const violations = this.#checkAgent(entry);
      reportViolations(violations, entry, key, report);
      if (violations !== undefined) return [];
      return (
        readAgent(entry, around, (inner, message) =>
          report(inner === "" ? key : `${key}.${inner}`, message),
        ) ?? []
      );
    });
  }
}

type Report = (key: string, message: string, severity?: "warning") => void;

interface AgentsOf {
  readonly identity: PackIdentity;
  readonly degraded: readonly string[];
}

function reportViolations(
  violations: readonly SchemaViolation[] | undefined,
  root: unknown,
  under: string,
  report: Report,
): void {
  for (const { path, message } of violations ?? []) {
    const key = fromPointer(path, root);
    report([under, key].filter((part) => part !== "").join("."), message);
  }
}

function checkContent(manifest: JsonRecord, report: Report): void {
  const { agents = [], nodes = [], engines } = manifest;
  const isEmpty = [agents, nodes].every((list) => Array.isArray(list) && list.length === 0);
  if (isEmpty) report("", "must have an agent or a node");
  if (Array.isArray(nodes) && nodes.length > 0) {
    report("nodes", "are not run by this server, only the pack's agents are", "warning");
  }
  const range = isRecord(engines) ? String(engines["openwop"]) : "";
  if (validRange(range) === null) {
    report("engines.openwop", `must be a range of versions, got ${quoteValue(range)}`);
  } else if (!intersects(range, OPENWOP_VERSIONS, { includePrerelease: true })) {
    report("engines.openwop", `must take in some version 1, got ${quoteValue(range)}`);
  }
}

/** The trusted keys, and whether a signature is required. */
interface SignaturePolicy {
  /** By `publicKeyRef`. */
  readonly trustedKeys: ReadonlyMap<string, Ed25519PublicKey>;
  readonly isRequired: boolean;
}

interface SignatureFinding {
  readonly key: string;
  readonly message: string;
  readonly severity?: "warning";
}

const USUAL_PLACE = "keys/pack.json.sig";
const SIGNATURE_BYTES = 64;

/**
 * Checks that an operator-trusted key signed the exact octets of pack.json, with a signature of 64 octets. A key inside
 * the pack proves nothing. A bad signature refuses the pack; one by an unknown key does so only if signatures are
 * required.   OpenWOP "Node Packs" signing
 */
function checkSignature(
  manifest: JsonRecord,
  text: string,
  files: PackFiles,
  { trustedKeys, isRequired }: SignaturePolicy,
): SignatureFinding | undefined {
  const signing = isRecord(manifest["signing"]) ? manifest["signing"] : undefined;
  const place = textIn(signing?.["signatureRef"]) ?? USUAL_PLACE;
  const signature = files.readBytes(place, SIGNATURE_BYTES);
  if (signing === undefined && signature.value === undefined) {
    return isRequired ? invalid("signing", "the pack must be signed, and is not") : undefined;
  }
  const name = textIn(signing?.["publicKeyRef"]);
  const key = signing?.["method"] === "sigstore" ? undefined : trustedKeys.get(name ?? "");
  if (key === undefined) {
    const who = name === undefined ? "names no key" : `names ${quoteValue(name)}`;
    const message = `${who}, expected one of openwop.trusted_keys; the signature proves nothing`;
    const finding = { key: "signing.publicKeyRef", message };
    return isRequired ? invalid(finding.key, message) : { ...finding, severity: "warning" };
  }
  if (signature.value === undefined) return invalid("signing.signatureRef", signature.fault);
  const encoded = Buffer.from(signature.value).toString("base64url");
  if (verifyDetached(key, Buffer.from(text, "utf8"), encoded)) return undefined;
  const message = `${quoteValue(place)} does not verify: pack.json was altered, or signed with another key`;
  return invalid("signing.signatureRef", message);
}

function invalid(key: string, message: string): SignatureFinding {
  return { key, message: `pack_signature_invalid: ${message}` };
}
