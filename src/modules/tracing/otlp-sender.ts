/** Sends spans by OpenTelemetry's own exporter: OTLP over HTTP, in protobuf. */
import { ExportResultCode } from "@opentelemetry/core";
import { createOtlpHttpExportDelegate } from "@opentelemetry/otlp-exporter-base/node-http";
import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import { VERSION } from "../../base/version.ts";
import { exporterOptions } from "./collector-agent.ts";
import { traceRequest } from "./span-octets.ts";
import type { SenderOptions, SpanBatch, SpanSender } from "./thread-sender.ts";

/** The component's name within the library. */
const COMPONENT = "otlp_http_span_exporter";

/** Creates a sender that works on the calling thread. */
export function createOtlpSender({ collector, resource }: SenderOptions): SpanSender {
  const source = { resource, scope: { name: "agtpd", version: VERSION } };
  // A response is read in the same turn in which its batch's callback runs.
  let rejected = 0;
  const serializer = {
    serializeRequest: ({ octets }: SpanBatch) => traceRequest(source, octets),
    deserializeResponse: (answer: Uint8Array) => {
      const { partialSuccess } = ProtobufTraceSerializer.deserializeResponse(answer);
      rejected = partialSuccess?.rejectedSpans ?? 0;
      return {};
    },
  };
  const options = exporterOptions(collector);
  const counted = { name: "span" as const, countItems: ({ count }: SpanBatch) => count };
  const exporter = createOtlpHttpExportDelegate(options, serializer, COMPONENT, counted, undefined);
  return {
    send: (batch) =>
      new Promise((resolve) => {
        exporter.export(batch, ({ code }) => {
          const isTaken = code === ExportResultCode.SUCCESS;
          resolve(isTaken ? Math.min(rejected, batch.count) : batch.count);
          rejected = 0;
        });
      }),
    close: async () => undefined,
  };
}
