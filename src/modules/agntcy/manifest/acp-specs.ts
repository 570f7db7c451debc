/**
 * Reads a manifest's ACP specs and checks the protocol's rules: interrupts, thread state and custom updates are
 * described exactly if the agent supports them.   Agent Connect Protocol "AgentACPSpec"
 */
import type { DocumentPlace } from "../../../base/document-place.ts";
import { describeValue, isRecord, type JsonRecord, quoteValue } from "../../../base/json-value.ts";
import { meteredSchema } from "../../../schema/metered-schema.ts";
import type { CompiledSchema } from "../../../schema/schema.ts";
import { AGENT_SCHEMA_BOUNDS, type SchemaBounds } from "../../../schema/schema-bounds.ts";
import { checkSchema } from "../../../schema/schema-check.ts";
import type { AcpSpecs, Capabilities, Interrupt } from "./manifest.ts";

const MAX_INTERRUPTS = 64;
/** Types appear in messages, and callers compare them. */
const INTERRUPT_TYPE = /^[\x21-\x7e]{1,128}$/;

/** This server's own extension that names who answers an interrupt; others ignore it. */
const ASKED = "x-agtp-asks";

/** Returns the specs, or undefined after reporting every fault. */
export function readAcpSpecs(specs: DocumentPlace): AcpSpecs | undefined {
  const capabilities = readCapabilities(specs);
  const input = readSchema(specs, "input");
  const output = readSchema(specs, "output");
  const config = readSchema(specs, "config");
  const interrupts = readInterrupts(specs, capabilities);
  const threadState = readThreadState(specs, capabilities);
  const customStreamingUpdate = readCustomUpdate(specs, capabilities);
  if (capabilities === undefined || interrupts === undefined) return undefined;
  if (input === undefined || output === undefined || config === undefined) return undefined;
  return {
    ...{ capabilities, input, output, config, interrupts },
    ...(threadState === undefined ? {} : { threadState }),
    ...(customStreamingUpdate === undefined ? {} : { customStreamingUpdate }),
  };
}

/** Also reads the member names of newer OASF modules. */
function readCapabilities(specs: DocumentPlace): Capabilities | undefined {
  const written = specs.at("capabilities").record();
  if (written === undefined) return undefined;
  const { value } = written.at("streaming");
  // OASF modules have the streaming members flat.
  const streaming =
    typeof value === "object" ? written.at("streaming").optional?.record() : written;
  if (value !== undefined && typeof value !== "object") {
    written.at("streaming").fail(`is ${quoteValue(value)}, expected an object`);
  }
  return {
    threads: written.at(["threads", "thread_support"]).optional?.flag() ?? false,
    interrupts: written.at(["interrupts", "interrupt_support"]).optional?.flag() ?? false,
    callbacks: written.at(["callbacks", "callback_support"]).optional?.flag() ?? false,
    streaming: {
      values: streaming?.at(["values", "result", "result_streaming"]).optional?.flag() ?? false,
      custom: streaming?.at(["custom", "custom_objects_streaming"]).optional?.flag() ?? false,
    },
  };
}

function readInterrupts(
  specs: DocumentPlace,
  capabilities: Capabilities | undefined,
): readonly Interrupt[] | undefined {
  const written = specs.at("interrupts").records({ most: MAX_INTERRUPTS });
  const interrupts: Interrupt[] = [];
  for (const one of written) {
    const type = one.at("interrupt_type").text();
    const payload = readSchema(one, "interrupt_payload");
    const resume = readSchema(one, "resume_payload");
    const asked = one.has(ASKED) ? one.at(ASKED).word(["people", "agent"]) : "people";
    if (type !== undefined && !INTERRUPT_TYPE.test(type)) {
      one
        .at("interrupt_type")
        .fail(`is ${quoteValue(type)}, expected visible ASCII without spaces`);
    } else if (interrupts.some((earlier) => earlier.type === type)) {
      one.at("interrupt_type").fail(`${quoteValue(type)} is declared twice`);
    } else if (type !== undefined && payload !== undefined && resume !== undefined) {
      interrupts.push({ type, payload, resume, asksAgent: asked === "agent" });
    }
  }
  const isEmpty = written.length === 0 && !isFilled(specs.at("interrupts").value);
  if (capabilities?.interrupts === true && isEmpty) {
    return specs.at("interrupts").fail("is empty, expected what the agent interrupts its runs for");
  }
  if (capabilities?.interrupts === false && written.length > 0) {
    return specs
      .at("interrupts")
      .fail("must be empty, because capabilities.interrupts is not true");
  }
  return interrupts;
}

/** Tells whether a list is non-empty; its faults have been reported. */
function isFilled(written: unknown): boolean {
  return Array.isArray(written) && written.length > 0;
}

function readThreadState(specs: DocumentPlace, capabilities: Capabilities | undefined) {
  if (capabilities?.threads === false && specs.has("thread_state")) {
    return specs
      .at("thread_state")
      .fail("must be absent, because capabilities.threads is not true");
  }
  return readOptionalSchema(specs, "thread_state");
}

function readCustomUpdate(specs: DocumentPlace, capabilities: Capabilities | undefined) {
  const name = "custom_streaming_update";
  const isNeeded = capabilities?.streaming.custom;
  if (isNeeded === false && specs.has(name)) {
    return specs.at(name).fail("must be absent, because capabilities.streaming.custom is not true");
  }
  if (isNeeded === true && !specs.has(name)) {
    return specs.at(name).fail("is missing, but capabilities.streaming.custom is true");
  }
  return readOptionalSchema(specs, name);
}

/** The manifest may use formats of its own. */
const MANIFEST_SCHEMA_BOUNDS: SchemaBounds = {
  ...AGENT_SCHEMA_BOUNDS,
  maxPatternSize: 4096,
  takesForeignFormats: true,
};

/** Reads a required schema. */
function readSchema(owner: DocumentPlace, name: string): CompiledSchema | undefined {
  const place = owner.at(name);
  const { value } = place;
  if (typeof value === "boolean") return meteredSchema(value ? {} : { not: {} });
  if (!isRecord(value)) return place.fail(`${describeValue(value)}, expected a JSON Schema`);
  const faults = checkSchema(withoutNulls(value), MANIFEST_SCHEMA_BOUNDS);
  for (const { pointer, message, hint } of faults) place.failBelow(pointer, message, hint);
  return faults.length > 0 ? undefined : meteredSchema(withoutNulls(value));
}

function readOptionalSchema(owner: DocumentPlace, name: string): CompiledSchema | undefined {
  return owner.has(name) ? readSchema(owner, name) : undefined;
}

/** Removes null keywords, which generators write for unset ones; only `default` and `const` may be null. */
function withoutNulls(schema: JsonRecord): JsonRecord {
  const members = Object.entries(schema).filter(
    ([name, value]) => value !== null || name === "default" || name === "const",
  );
  return Object.fromEntries(members);
}
