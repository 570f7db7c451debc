/**
 * Compares the description by an agent's server with the manifest. What annotates a schema may
 * differ; everything that decides about a value, or about what the agent can do, may not.
 */

import { isDeepStrictEqual } from "node:util";
import { escapeToken } from "../../../base/json-pointer.ts";
import { isRecord, type JsonRecord, quoteValue } from "../../../base/json-value.ts";
import { isError, type Problem } from "../../../base/problem.ts";
import { mapSubschemas } from "../../../schema/subschemas.ts";
import { readReference } from "../acp/acp-answers.ts";
import { readAcpSpecs } from "../manifest/acp-specs.ts";
import type { AcpSpecs, AgentManifest } from "../manifest/manifest.ts";
import { manifestRoot } from "../manifest/manifest-root.ts";

/** Keywords that say nothing about values. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  ...["$id", "$schema", "$comment", "title", "description", "default", "examples", "example"],
  ...["deprecated", "readOnly", "writeOnly", "discriminator", "externalDocs", "xml"],
]);

/** The differences, by their JSON Pointers in a manifest and in words; empty: none. */
export function compareDescriptor(
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
  return [...differences, ...compareSpecs(specs, read)];
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

function compareSpecs(ours: AcpSpecs, theirs: AcpSpecs): readonly string[] {
  return findDifferences(meaningOf(ours), meaningOf(theirs), "/specs");
}

/** The specs without what says nothing; interrupts by their type, which is what their order is for. */
function meaningOf(specs: AcpSpecs): JsonRecord {
  const { capabilities, input, output, config, threadState, customStreamingUpdate } = specs;
  const interrupts = specs.interrupts.map(({ type, payload, resume }) => [
    type,
    {
      interrupt_payload: withoutAnnotations(payload.schema),
      resume_payload: withoutAnnotations(resume.schema),
    },
  ]);
  return {
    capabilities,
    input: withoutAnnotations(input.schema),
    output: withoutAnnotations(output.schema),
    config: withoutAnnotations(config.schema),
    ...(threadState === undefined ? {} : { thread_state: withoutAnnotations(threadState.schema) }),
    ...(customStreamingUpdate === undefined
      ? {}
      : { custom_streaming_update: withoutAnnotations(customStreamingUpdate.schema) }),
    ...(interrupts.length === 0 ? {} : { interrupts: Object.fromEntries(interrupts) }),
  };
}

/** Properties may be called like annotations, so it goes down where schemas are. */
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

/** More than these nobody reads. */
const MOST = 8;

/**
 * `/specs/input/type is "object" here and "string" there`; none: the values are equal.
 *
 * Where two JSON values differ, by JSON Pointers to the innermost places, with what stands there on
 * either side: whoever has to mend a file must not have to search for it.
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

function memberOf(record: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

function wordsFor(value: unknown): string {
  return value === undefined ? "is absent" : `is ${quoteValue(value)}`;
}
