/**
 * Traces: tells a collector of OpenTelemetry about requests and the calls that they make. It listens
 * to `node:diagnostics_channel`, and nothing of the pipeline knows it; where it is off, nothing of it
 * is loaded.   docs/tracing.md
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
