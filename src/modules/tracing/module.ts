/**
 * Traces: reports requests, and the calls that they make, to an OpenTelemetry collector. The module listens to
 * `node:diagnostics_channel`, unknown to the pipeline; if it is off, none of it is loaded.   docs/tracing.md
 */
import type { Module } from "../../dispatch/module/module.ts";
import type { TracingSections } from "./config.ts";

export const tracingModule: Module<TracingSections> = {
  name: "tracing",
  takes: { tracing: true, server: true, limits: true },
  async provision(context) {
    if (!context.config.tracing.enabled) return {};
    const { openTracing } = await import("./open-tracing.ts");
    return openTracing(context);
  },
};
