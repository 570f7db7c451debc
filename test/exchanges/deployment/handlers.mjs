// The functions behind the endpoints of the golden exchanges.

/** Answers with what the handler was called with. */
export const echo = (call) => ({
  body: {
    input: call.input,
    method: call.method,
    path: call.path,
    requested_method: call.requestedMethod ?? null,
    agent_id: call.agentId ?? null,
    owner_id: call.ownerId ?? null,
    scopes: call.scopes,
    trust_tier: call.trustTier ?? null,
    session_id: call.sessionId ?? null,
    task_id: call.taskId ?? null,
  },
});

export const featured = () => ({ body: { featured: true } });

export const main_bed = ({ input }) => ({ body: { main_bed_of: input.floor } });

export const book_room = async ({ input }) => {
  if (input.nights === 13) {
    return { error: "room_unavailable", message: "no room left", details: { nights: 13 } };
  }
  return { body: { reservation_id: "018f3c2e-7a10-7cc4-9b7e-2f6d5a1c0b42" } };
};

export const faults = async ({ input, signal }) => {
  switch (input.kind) {
    case "none":
      return { body: { ok: true } };
    case "declared":
      return { error: "declared" };
    case "undeclared":
      return { error: "undeclared", message: "secret of the house" };
    case "thrown":
      throw new Error("secret of the house");
    case "thrown-nothing":
      throw undefined;
    case "output":
      return { body: { not_ok: "secret of the house" } };
    case "output-as-text":
      return { status: "200", body: { not_ok: true } };
    case "unknown-status":
      return { status: 299, body: { ok: true } };
    case "headers":
      return { body: { ok: true }, headers: { "X-Split": "a\r\nServer-ID: forged" } };
    case "no-headers":
      return { body: { ok: true }, headers: null };
    case "nothing":
      return undefined;
    case "text":
      return "ok";
    case "circular": {
      const body = { ok: true };
      body.self = body;
      return { body };
    }
    case "forged":
      return {
        body: { ok: true },
        headers: { "Server-ID": "forged", "response-id": "forged", "X-Own": "kept" },
      };
    case "no-content":
      return { status: 204, body: { ok: true } };
    case "large":
      return { body: { ok: true, data: "x".repeat(300_000) } };
    case "accepted":
      return { status: 202, body: { ok: true } };
    case "hang":
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    default:
      return {};
  }
};

/** One more dispatch, with the caller's own authority. */
export const relay = async ({ dispatch, input }) => {
  const { status, body } = await dispatch(input.method, input.path, input.input);
  return { body: { status, body: body ?? null } };
};

/** Answers with the depth at which it was stopped. */
export const loop = async (call) => {
  const depth = call.input.depth ?? 0;
  try {
    const { body } = await call.dispatch("EXECUTE", "/loop", { depth: depth + 1 });
    return { body };
  } catch {
    return { body: { stopped_at: depth } };
  }
};

/** Takes the place of DISCOVER /apis where the configuration says so. */
export const own_apis = () => ({ body: [{ name: "own" }] });
