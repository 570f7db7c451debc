/** The person that is signed in, and the token that changes carry. */
import { VERSION } from "../../../base/version.ts";
import type { ApiRoute } from "../console-api.ts";

/** `GET /api/session` */
export function sessionRoute(serverId: string, isInspection = false): ApiRoute {
  return {
    method: "GET",
    path: "/session",
    answer: ({ signedIn: { person, csrf } }) => {
      const { name, role } = person;
      const facts = { name, role, csrf, server_id: serverId, version: VERSION };
      return { ...facts, inspect_only: isInspection };
    },
  };
}
