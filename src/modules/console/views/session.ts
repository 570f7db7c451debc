/** The person that is signed in, and the token that changes carry. */
import { VERSION } from "../../../base/version.ts";
import type { ApiRoute } from "../console-api.ts";
import type { Passkeys } from "../passkeys.ts";

/** `GET /api/session`; without passkeys, where the daemon was not started. */
export function sessionRoute(serverId: string, passkeys?: Pick<Passkeys, "of">): ApiRoute {
  return {
    method: "GET",
    path: "/session",
    answer: ({ signedIn: { person, csrf } }) => {
      const { id, name, role } = person;
      const facts = { name, role, csrf, server_id: serverId, version: VERSION };
      const hasPasskey = passkeys !== undefined && passkeys.of(id).length > 0;
      return { ...facts, inspect_only: passkeys === undefined, has_passkey: hasPasskey };
    },
  };
}
