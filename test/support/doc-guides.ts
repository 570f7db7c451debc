/** The pages whose commands the tests run, in the order of the page. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./source-tree.ts";

const CHAIN_HOLDS = /signatures +\d+ verified, 0 unsigned\nchain +holds/;

/** At most notes, as an older Node is worth one: no warning, no error. */
const NOTHING_TO_COMPLAIN = /\d+ checks, (?:nothing found|\d+ notes?)\n/;

/** Guides that need nothing but the programs, with texts that are among what is printed. */
export const GUIDES: readonly (readonly [page: string, texts: readonly (string | RegExp)[]])[] = [
  [
    "openapi",
    ["the deployment is valid", NOTHING_TO_COMPLAIN, '{"price":4.5}', /records +1\n/, CHAIN_HOLDS],
  ],
  ["approvals", ['"booked":"double"', '"code":"approval-used"', CHAIN_HOLDS]],
  ["negotiation", ['"item_id":"coffee"', '"item_id":"cocoa"', '"synthesis_id"', CHAIN_HOLDS]],
  ["python-handlers", ['"agent":"guide"', '"code":"room_unavailable"', "Ran 2 tests"]],
  [
    "production",
    [
      ...["the deployment is valid", NOTHING_TO_COMPLAIN, '"in_stock":120'],
      ...[
        '"code":"oauth-invalid"',
        CHAIN_HOLDS,
        "endpoints/query-item.toml",
        "agtp_open_connections 0",
      ],
    ],
  ],
  ["mcp", ['"structuredContent":{"item_id":"tea"', CHAIN_HOLDS]],
];

/** The pages of the examples. */
export const EXAMPLE_PAGES: readonly string[] = readdirSync(join(ROOT, "examples"), {
  withFileTypes: true,
})
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => `examples/${name}/README.md`);

/** All of them: the first ten minutes, the guides, and the examples. */
export const RUN_PAGES: ReadonlySet<string> = new Set([
  ...["start", "cluster", ...GUIDES.map(([page]) => page)].map((one) => `docs/${one}.md`),
  ...EXAMPLE_PAGES,
]);
