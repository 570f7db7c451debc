/**
 * Finds an agent at its server by id or by name and version, and compares the server's descriptor with the manifest. A
 * missing or different agent is not served.
 */

import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { escapeToken } from "../../../base/dotted-key.ts";
import { isRecord, type JsonRecord, memberOf, quoteValue } from "../../../base/json-value.ts";
import { isError, type Problem } from "../../../base/problem.ts";
import { mapSubschemas } from "../../../schema/local-reference.ts";
import { readReference } from "../acp/acp-answers.ts";
import type { AcpAnswer, AcpFailure } from "../acp/acp-call.ts";
import type { AcpClient } from "../acp/acp-client.ts";
import { readAcpSpecs } from "../manifest/acp-specs.ts";
import {
  type AcpSpecs,
  type AgentManifest,
  manifestRoot,
  schemasOf,
} from "../manifest/manifest.ts";
import type { Readiness } from "../remote-agent.ts";

const MAX_DIFFERENCES = 8;

/** Returns the agent's id at its server, or the reason that it is unusable. */
export async function verifyAgent(
  client: AcpClient,
  manifest: AgentManifest,
  knownId: string | undefined,
  signal: AbortSignal,
): Promise<Readiness> {
  const found = await findAgent(client, manifest, knownId, signal);
  if (found.kind !== "ready") return found;
  const { agentId } = found;
  const descriptor = await client.descriptor(agentId, signal);
  if (descriptor.kind === "failed") {
    return descriptor.status === 404 ? missing(`the agent ${JSON.stringify(agentId)}`) : descriptor;
  }
  const differences = compareDescriptor(manifest, descriptor.value);
  if (differences.length === 0) return found;
  const named = differences.slice(0, MAX_DIFFERENCES).join("; ");
  const message = `the agent's server describes it otherwise than its manifest: ${named}`;
  return { kind: "unavailable", message };
}

async function findAgent(
  client: AcpClient,
  { name, version }: AgentManifest,
  knownId: string | undefined,
  signal: AbortSignal,
): Promise<Readiness> {
  if (knownId !== undefined) return { kind: "ready", agentId: knownId };
  const found = await client.searchAgents(name, version, signal);
  if (found.kind === "failed") return found.status === 404 ? missing(`${name} ${version}`) : found;
  // Takes the first match, since a server may list agents of other names.
  const agent = found.value.find(
    (one) => (one.name ?? name) === name && (one.version ?? version) === version,
  );
  return agent === undefined
    ? missing(`${name} ${version}`)
    : { kind: "ready", agentId: agent.agentId };
}

function missing(what: string): Readiness {
  return { kind: "unavailable", message: `the agent's server does not have ${what}` };
}

/** Keywords without effect on validation. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  ...["$id", "$schema", "$comment", "title", "description", "default", "examples", "example"],
  ...["deprecated", "readOnly", "writeOnly", "discriminator", "externalDocs", "xml"],
]);

/** Returns the differences by JSON Pointer, in words; empty if equal. */
function compareDescriptor(
  { name, version, specs }: AgentManifest,
  descriptor: JsonRecord,
): readonly string[] {
  const theirs = readReference(descriptor["metadata"]);
  const differences: string[] = [];
  const compare = (pointer: string, own: string, other: string | undefined): void => {
    if (other !== undefined && other !== own) {
      differences.push(...findDifferences(own, other, `/metadata/ref/${pointer}`));
    }
  };
  compare("name", name, theirs.name);
  compare("version", version, theirs.version);
  const read = readSpecs(descriptor);
  if (typeof read === "string") return [...differences, `/specs (${read})`];
  return [...differences, ...findDifferences(meaningOf(specs), meaningOf(read), "/specs")];
}

function readSpecs(descriptor: JsonRecord): AcpSpecs | string {
  const problems: Problem[] = [];
  const reader = manifestRoot(descriptor, "", problems);
  const written = reader.at(["specs", "acp"]).record();
  const specs = written && readAcpSpecs(written);
  const fault = problems.find(isError);
  if (specs !== undefined && fault === undefined) return specs;
  return fault === undefined ? "they are missing" : `${fault.key}: ${fault.message}`;
}

/** The specs reduced to their meaning; interrupts are keyed by type, as their order is meaningless. */
function meaningOf(specs: AcpSpecs): JsonRecord {
  const schemas = Object.entries(schemasOf(specs)).map(([name, schema]) => [
    name,
    withoutAnnotations(schema),
  ]);
  const interrupts = specs.interrupts.map(({ type, payload, resume }) => [
    type,
    {
      interrupt_payload: withoutAnnotations(payload.schema),
      resume_payload: withoutAnnotations(resume.schema),
    },
  ]);
  return {
    capabilities: specs.capabilities,
    ...Object.fromEntries(schemas),
    ...(interrupts.length === 0 ? {} : { interrupts: Object.fromEntries(interrupts) }),
  };
}

/** Removes annotations, descending only where schemas are, since properties may have the same names. */
function withoutAnnotations(schema: unknown): unknown {
  if (!isRecord(schema)) return schema;
  const kept = Object.entries(schema).filter(
    ([keyword, value]) =>
      !ANNOTATIONS.has(keyword) &&
      !keyword.startsWith("x-") &&
      !(value === null && keyword !== "const"),
  );
  const members = kept.map(([keyword, value]): [string, unknown] => {
    if (keyword === "required" && Array.isArray(value)) return [keyword, value.toSorted()];
    return [keyword, mapSubschemas(keyword, value, withoutAnnotations)];
  });
  return Object.fromEntries(members);
}

/** The maximum number of differences reported. */
const MOST = 8;

/**
 * Returns the differences of two JSON values with the innermost JSON Pointers:
 * `/specs/input/type is "object" here and "string" there`. Empty if equal.
 */
function findDifferences(ours: unknown, theirs: unknown, pointer: string): string[] {
  const found: string[] = [];
  collect(ours, theirs, pointer, found);
  return found;
}

function collect(ours: unknown, theirs: unknown, pointer: string, found: string[]): void {
  if (found.length >= MOST || isDeepStrictEqual(ours, theirs)) return;
  if (isRecord(ours) && isRecord(theirs)) {
    const names = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
    for (const name of names) {
      const below = `${pointer}/${escapeToken(name)}`;
      collect(memberOf(ours, name), memberOf(theirs, name), below, found);
    }
    return;
  }
  if (Array.isArray(ours) && Array.isArray(theirs) && ours.length === theirs.length) {
    for (const [index, one] of ours.entries()) {
      collect(one, theirs[index], `${pointer}/${index}`, found);
    }
    return;
  }
  found.push(`${pointer} ${wordsFor(ours)} here and ${wordsFor(theirs)} there`);
}

function wordsFor(value: unknown): string {
  return value === undefined ? "is absent" : `is ${quoteValue(value)}`;
}

const CALL = "cancel";
/** A call that no server has, of equal length, so that answers differ in the name only. */
const NO_CALL = "agtp-x";
const DESCRIBED = /^\/.*\{[^/{}]+\}\/cancel$/;

/**
 * Tells whether a server can cancel runs. Manifests do not say, and some servers publish the call but fail on it, so it
 * is tried with a made-up run id. Only an answer specific to cancellation counts, from a server whose own description
 * does not lack the call; any doubt means no.   Agent Connect Protocol "Cancel Stateless Run"
 */
export async function probeCancel(client: AcpClient, signal: AbortSignal): Promise<boolean> {
  const runId = randomUUID();
  const [described, known, unknown] = await Promise.all([
    client.description(signal),
    client.probe(runId, CALL, signal),
    client.probe(runId, NO_CALL, signal),
  ]);
  if (isDenied(described)) return false;
  if (known.kind === "answered") return unknown.kind !== "answered";
  // Only a server that looked the run up answers 404 or 409.
  const hasLooked = known.status === 404 || known.status === 409;
  return hasLooked && (unknown.kind !== "failed" || !isSameAnswer(known, unknown));
}

/** Tells whether the server's own description lacks the call. */
function isDenied(answer: AcpAnswer): boolean {
  const paths = answer.kind === "answered" && isRecord(answer.body) ? answer.body["paths"] : null;
  if (!isRecord(paths)) return false;
  const own = Object.entries(paths).filter(([path]) => path.includes("/runs"));
  const isDescribed = own.some(
    ([path, item]) => DESCRIBED.test(path) && isRecord(item) && Object.hasOwn(item, "post"),
  );
  return own.length > 0 && !isDescribed;
}

/** Some servers quote the unknown path in their answer. */
function isSameAnswer(known: AcpFailure, unknown: AcpFailure): boolean {
  const said = known.detail?.replaceAll(CALL, NO_CALL);
  return known.status === unknown.status && said === unknown.detail;
}
