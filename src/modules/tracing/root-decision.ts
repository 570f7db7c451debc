/**
 * Decides about traces that nobody else has decided about, before anything is made for them: most
 * requests are in no trace that is sent, and shall cost nearly nothing.
 */
import { ROOT_CONTEXT } from "@opentelemetry/api";
import {
  type IdGenerator,
  RandomIdGenerator,
  SamplingDecision,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace-base";

export class RootDecision {
  readonly #sampler: TraceIdRatioBasedSampler;
  readonly #random = new RandomIdGenerator();
  #chosen: string | undefined;
  /** For the tracer: the trace that was decided about has the id that it was decided by. */
  readonly ids: IdGenerator = {
    generateTraceId: () => this.#chosen ?? this.#random.generateTraceId(),
    generateSpanId: () => this.#random.generateSpanId(),
  };

  /** `ratio` from 0 to 1. */
  constructor(ratio: number) {
    this.#sampler = new TraceIdRatioBasedSampler(ratio);
  }

  /** A new trace: `begin` is called for one that is sampled; answers its id. */
  decide(begin: () => void): string {
    const traceId = this.#random.generateTraceId();
    const { decision } = this.#sampler.shouldSample(ROOT_CONTEXT, traceId);
    if (decision !== SamplingDecision.RECORD_AND_SAMPLED) return traceId;
    this.#chosen = traceId;
    try {
      begin();
    } finally {
      this.#chosen = undefined;
    }
    return traceId;
  }
}
