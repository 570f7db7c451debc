/** All operations of the API, in the order in which they are looked for. */

import type { ApiRoute } from "./api-route.ts";
import { CATALOG_ROUTES } from "./catalog-routes.ts";
import { POLL_ROUTE, STREAM_ROUTE } from "./event-routes.ts";
import { INTERRUPT_ROUTES, PAUSE_ROUTES } from "./interrupt-routes.ts";
import { RUN_ROUTES } from "./run-routes.ts";
import { SEAM_ROUTES } from "./seam-routes.ts";

/** The stream is sent, not answered: whoever serves it knows it by its path. */
export const FACE_ROUTES: readonly ApiRoute[] = [
  ...RUN_ROUTES,
  ...PAUSE_ROUTES,
  POLL_ROUTE,
  STREAM_ROUTE,
  ...INTERRUPT_ROUTES,
  ...CATALOG_ROUTES,
  ...SEAM_ROUTES,
];
