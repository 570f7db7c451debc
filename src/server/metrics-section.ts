/** The schema of `[metrics]`. */
import { flag, host, port, type Schema, table } from "../schema/section-field.ts";

/** `[metrics]` */
export interface MetricsConfig {
  readonly enabled: boolean;
  readonly host: string;
  readonly port: number;
}

export const metricsSection: Schema = table("Prometheus metrics over HTTP", {
  enabled: flag(false, "Whether metrics are served"),
  host: host("127.0.0.1", "Address to listen on"),
  port: port(9464),
});
