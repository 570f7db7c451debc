/** The tracer of a configuration: OpenTelemetry's, sampling at the root, sending by OTLP. */
import { relative } from "node:path";
import type { Tracer } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  ParentBasedSampler,
} from "@opentelemetry/sdk-trace-base";
import type { Problem } from "../../base/problem.ts";
import { reasonOf } from "../../base/thrown.ts";
import { VERSION } from "../../base/version.ts";
import type { TracingSections } from "./config.ts";
import { createCountedProcessor } from "./counted-export.ts";
import { exporterOptions } from "./exporter-options.ts";
import { RootDecision } from "./root-decision.ts";

/** A tracer, and how it ends. */
export interface OpenedTracer {
  readonly tracer: Tracer;
  /** Decides about roots: the tracer itself samples all of them. */
  readonly roots: RootDecision;
  /** Sends what waits, in its time; then nothing is sent any more. Never rejects. */
  close(withinMs: number): Promise<void>;
}

/** The tracer, or what is wrong with its configuration. */
export function openTracer({ tracing, server, ...place }: TracingSections): OpenedTracer | Problem {
  const { sampleRatio, serviceName } = tracing;
  let exporter: OTLPTraceExporter;
  try {
    exporter = new OTLPTraceExporter(exporterOptions(tracing, "/v1/traces"));
  } catch (error) {
    const file = relative(place.directory, place.file);
    return { file, key: "tracing.ca", message: `cannot be used: ${reasonOf(error)}` };
  }
  const roots = new RootDecision(sampleRatio);
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      "service.name": serviceName,
      "service.version": VERSION,
      "service.instance.id": server.serverId,
    }),
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    idGenerator: roots.ids,
    spanProcessors: [createCountedProcessor(exporter)],
  });
  return {
    roots,
    tracer: provider.getTracer("agtpd", VERSION),
    close: async (withinMs) => {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, withinMs);
      });
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
      clearTimeout(timer);
    },
  };
}
