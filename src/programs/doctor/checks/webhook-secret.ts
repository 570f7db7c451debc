/** Whether whoever gets a webhook can tell that it comes from here. */
import type { Check } from "../finding.ts";

/** The check `webhook-secret`. */
export const webhookSecret: Check = {
  id: "webhook-secret",
  asks: "are webhooks signed?",
  look: ({ config: { webhooks }, configFile }) => {
    const { escalations, recipients, secret } = webhooks;
    const count = Object.keys(recipients).length + (escalations === undefined ? 0 : 1);
    if (count === 0 || secret !== undefined) return [];
    return [
      {
        severity: "warning",
        file: configFile,
        key: "webhooks.secret",
        message: `is missing: nobody can tell the ${count} webhook${count === 1 ? "" : "s"} from a forgery`,
        remedy: `write "\${WEBHOOK_SECRET}", set it, and have receivers check AGTP-Signature`,
      },
    ];
  },
};
