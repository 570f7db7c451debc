/** All targets, in the order in which they are listed. */
import { compileEndpoints } from "./endpoints.ts";
import { compileScheduler } from "./scheduler.ts";
import { compileStandalone } from "./standalone.ts";
import type { Target, TargetRecord } from "./targets.ts";

const TARGETS: readonly Target[] = [
  {
    name: "standalone",
    description: "A portable plan for authoring, validation and protocol use, without a runtime.",
    capabilities: ["schema", "validate", "compile", "describe", "json-rpc"],
    features: {
      approvals: "intent-only",
      model_policy: "portable",
      execution_intent: "portable",
      output_hints: "portable",
      timeout_support: "portable",
      context_retrieval: "portable",
      runtime_execution: false,
    },
    compile: compileStandalone,
  },
  {
    name: "openclaw-scheduler",
    description: "Jobs of an OpenClaw Scheduler, the durable runtime.",
    capabilities: ["compile", "apply", "inspect", "field-mask", "sanitize-basic", "ndjson"],
    features: {
      approvals: "runtime",
      model_policy: "model+thinking",
      execution_intent: "runtime",
      output_hints: "runtime",
      timeout_support: "runtime",
      context_retrieval: "runtime",
      runtime_execution: true,
    },
    compile: compileScheduler,
  },
  {
    name: "agtp",
    description: "The AGTP endpoints that a daemon registers for the tasks of exposed workflows.",
    capabilities: ["compile"],
    features: {
      approvals: "runtime",
      model_policy: "none",
      execution_intent: "runtime",
      output_hints: "runtime",
      timeout_support: "runtime",
      context_retrieval: "none",
      runtime_execution: true,
    },
    compile: compileEndpoints,
  },
];

/** A target by name. */
export function findTarget(name: unknown): Target | undefined {
  return TARGETS.find((target) => target.name === name);
}

/** The list for clients. */
export function listTargets(): readonly TargetRecord[] {
  return TARGETS.map(({ name, description, capabilities, features }) => ({
    ...{ name, description, capabilities, features },
  }));
}
