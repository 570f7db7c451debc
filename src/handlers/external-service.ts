/**
 * External services: an existing HTTPS API behind an endpoint. One request to it a call, within the
 * endpoint's own deadline, aborted when the caller leaves; every way it can fail is one of the five
 * `upstream_*` errors or an error the operator mapped a status to.   AGTP-API §12.3
 */

import { Deadline } from "../base/deadline.ts";
import { reasonOf } from "../base/thrown.ts";
import type { ExternalServiceBinding } from "../endpoint/endpoint.ts";
import type { SchemaViolation } from "../schema/schema.ts";
import type { Call, Handler, HandlerError } from "./handler.ts";
import { upstreamFailure } from "./upstream-failure.ts";
import { checkUpstreamInput } from "./upstream-input.ts";
import type { UpstreamPools } from "./upstream-pools.ts";
import { compileUpstreamRequest } from "./upstream-request.ts";
import { compileUpstreamResponse } from "./upstream-response.ts";
import type { UpstreamUrl } from "./upstream-url.ts";

/** The handler, and the check its input has to pass first. */
export interface ExternalService {
  readonly handler: Handler;
  /** Checks what a schema cannot say of values that become part of a request. */
  readonly precheck: (
    input: Readonly<Record<string, unknown>>,
  ) => readonly SchemaViolation[] | undefined;
}

/** Binds an external service; its URL is the binding's, taken apart. */
export function createExternalService(
  binding: ExternalServiceBinding,
  url: UpstreamUrl,
  pools: UpstreamPools,
): ExternalService {
  const pool = pools.pool({ origin: url.origin, ca: binding.ca });
  const buildRequest = compileUpstreamRequest(binding, url);
  const readResponse = compileUpstreamResponse(binding);
  const { timeoutMs } = binding;

  const handler: Handler = async (call) => {
    const request = buildRequest(call.input);
    const deadline = new Deadline({ signals: [call.signal], timeoutMs });
    try {
      const response = await pool.request({
        ...request,
        signal: deadline.signal,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      });
      return await readResponse(response);
    } catch (error) {
      const failure = upstreamFailure(error, deadline.signal.aborted);
      logFailure(call, failure, url.origin, error);
      return failure;
    } finally {
      deadline.clear();
    }
  };
  return { handler, precheck: (input) => checkUpstreamInput(url, binding.encoding, input) };
}

/** The operator gets what the caller does not: where the call went, and what the system said. */
function logFailure(call: Call, failure: HandlerError, origin: string, error: unknown): void {
  if (call.signal.aborted) return;
  const cause = reasonOf(error);
  call.log.warn({ upstream: origin, error: failure.error, cause }, "upstream call failed");
}
