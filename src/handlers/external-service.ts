/**
 * External services: an existing HTTPS API behind an endpoint. A call sends one request, within the
 * endpoint's own deadline, aborted when the caller leaves; every failure is one of the five
 * `upstream_*` errors or an error the operator mapped a status to.   AGTP-API §12.3
 */
import { Deadline } from "../base/deadline.ts";
import { reasonOf } from "../base/thrown.ts";
import type { ExternalServiceBinding } from "../endpoint/endpoint.ts";
import type { Call, Handler, HandlerError } from "./handler.ts";
import { compileUpstreamCheck, type UpstreamCheck } from "./upstream-input.ts";
import type { UpstreamPools } from "./upstream-pools.ts";
import { compileUpstreamRequest } from "./upstream-request.ts";
import { compileUpstreamResponse, upstreamFailure } from "./upstream-response.ts";
import type { UpstreamUrl } from "./upstream-url.ts";

/** The handler, and the check that its input has to pass first. */
interface ExternalService {
  readonly handler: Handler;
  readonly precheck: UpstreamCheck;
}

/** Binds an external service; `url` is the binding's, parsed, and `declared` the fields of its input. */
export function createExternalService(
  binding: ExternalServiceBinding,
  url: UpstreamUrl,
  pools: UpstreamPools,
  declared: readonly string[] = [],
): ExternalService {
  const pool = pools.pool({ origin: url.origin, ca: binding.ca });
  const buildRequest = compileUpstreamRequest(binding, url);
  const readResponse = compileUpstreamResponse(binding);
  const { timeoutMs } = binding;

  const handler: Handler = async (call) => {
    const request = buildRequest(call.input);
    const deadline = new Deadline({ signals: [call.signal], timeoutMs });
    let isSent = false;
    try {
      const response = await pool.request({
        ...request,
        signal: deadline.signal,
        onSent: () => {
          isSent = true;
        },
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      });
      return await readResponse(response);
    } catch (error) {
      const failure = upstreamFailure(error, { isAborted: deadline.signal.aborted, isSent });
      logFailure(call, failure, url.origin, error);
      return failure;
    } finally {
      deadline.clear();
    }
  };
  return { handler, precheck: compileUpstreamCheck(binding, url, declared) };
}

/** Logs for the operator what the caller is not told: the origin of the call, and the system's error. */
function logFailure(call: Call, failure: HandlerError, origin: string, error: unknown): void {
  if (call.signal.aborted) return;
  const cause = reasonOf(error);
  call.log.warn({ upstream: origin, error: failure.error, cause }, "upstream call failed");
}
