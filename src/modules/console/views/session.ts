/** The person that is signed in, and the token that changes carry. */
import { VERSION } from "../../../base/version.ts";
import type { ApiRoute } from "../console-api.ts";
import type { Passkeys } from "../passkeys.ts";

/** `GET /api/session` */
export function sessionRoute(serverId: string, passkeys: Pick<Passkeys, "of">): ApiRoute {
  return {
    method: "GET",
    path: "/session",
    answer: ({ signedIn: { person, csrf } }) => {
      const { id, name, role } = person;
      const hasPasskey = passkeys.of(id).length > 0;
      return { name, role, csrf, server_id: serverId, version: VERSION, has_passkey: hasPasskey };
    },
  };
}
