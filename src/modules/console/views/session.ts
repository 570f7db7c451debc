/** Who is signed in, and the token that changes carry. */
import { VERSION } from "../../../base/version.ts";
import type { ApiRoute } from "../console-api.ts";

/** `GET /api/session` */
export function sessionRoute(serverId: string): ApiRoute {
  return {
    method: "GET",
    path: "/session",
    answer: ({ signedIn: { person, csrf } }) => {
      const { name, role } = person;
      return { name, role, csrf, server_id: serverId, version: VERSION };
    },
  };
}
