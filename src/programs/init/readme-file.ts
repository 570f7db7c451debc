/** The README of a new deployment: how to start it, commands to try, and steps before others use it. */
import { urlAuthority } from "../../base/addresses.ts";
import { AGTP_PORT } from "../../client/uri.ts";
import { defuseLine } from "../shell/terminal.ts";
import type { Answers } from "./answers.ts";
import { SERVER_FILE } from "./server-file.ts";
import type { Loss } from "./translate-reference.ts";

interface FirstCommands {
  readonly start: string;
  /** Three commands that work once it is started. */
  readonly tries: readonly Try[];
}

interface Try {
  readonly command: string;
  readonly explanation: string;
}

/** Commands to try, with the agent's id if there is an agent. */
export function firstCommands(
  { port }: Pick<Answers, "port">,
  agentId: string | undefined,
): FirstCommands {
  const uri = `agtp://${urlAuthority("localhost", port, AGTP_PORT)}`;
  const start = `agtpd --config ${SERVER_FILE}`;
  const manifest = {
    command: `agtp ${uri}`,
    explanation: "What the server is and offers: its manifest, signed.",
  };
  if (agentId === undefined) return { start, tries: [manifest, ...anonymousTries(uri)] };
  const proposal = {
    proposed_method: "COMPARE",
    path: "/items",
    intent: "Set two items side by side.",
    parameters: { left: "string", right: "string" },
  };
  return {
    start,
    tries: [
      manifest,
      {
        command: `agtp ${uri} QUERY /items/tea --agent-id ${agentId}`,
        explanation: "The endpoint of `endpoints/query-item.toml`, asked by the agent.",
      },
      {
        command: `agtp ${uri} PROPOSE --agent-id ${agentId} -d '${JSON.stringify(proposal)}'`,
        explanation:
          "A pair that nobody registered: `recipes/compare-items.toml` makes it, and 263 says that it exists now.",
      },
    ],
  };
}

/** Commands for callers without an Agent-ID, who may only read. */
function anonymousTries(uri: string): readonly Try[] {
  return [
    {
      command: `agtp ${uri} DISCOVER /methods`,
      explanation: "The methods of the server, registered pairs among them.",
    },
    {
      command: `agtp ${uri} DISCOVER /agents`,
      explanation: "The agents that the server knows: none yet.",
    },
  ];
}

/** The text of README.md. */
export function readmeFile(answers: Answers, agentId: string | undefined): string {
  const { start, tries } = firstCommands(answers, agentId);
  return `# ${answers.serverId}

An AGTP server, run by ${answers.operator}. Everything it serves is in this directory; commands are for
a shell that stands in it.

## Start

\`\`\`sh
${start}
\`\`\`

It is ready when the log has a line with \`"event":"listening"\`. Ctrl-C ends it. \`agtpd --check\` says
what is wrong with a file before anything is started.

## Try

${tries.map(describeTry).join("\n")}
${agentId === undefined ? makingAgents() : comparing(answers, agentId)}
${whatIsWhere("compositions that agents may propose")}`;
}

/** The text of README.md for a translated configuration: the steps before there is something to call. */
export function translatedReadme(
  answers: Answers,
  agentId: string | undefined,
  losses: readonly Loss[],
): string {
  const { start, tries } = firstCommands({ port: answers.port }, undefined);
  const lost = losses.map(({ key, reason }) => `- \`${defuseLine(key)}\`: ${defuseLine(reason)}\n`);
  return `# ${answers.serverId}

An AGTP server, run by ${answers.operator}, translated from a configuration of the reference implementation.
Commands are for a shell that stands in this directory.

## What is left to do

1. Endpoint files of the reference implementation are read as they are: copy them into \`endpoints/\`.
   Handlers in Python need a \`[[processes]]\` entry and one line for each, \`endpoint_handler\`: see
   "Handlers in Python" in the documentation of agtpd.
2. Agents: identity documents go into \`agents/\`${agentId === undefined ? "; a new one is made by" : `, where ${answers.agent} is. Another:`}

\`\`\`sh
agtp-keys genesis --name ${agentId === undefined ? "guide" : "another"} --principal Operator --owner-id operator --issuer-key .agtp/keys/signing.pem --agent-key --scope items:read
\`\`\`

3. \`agtpd --check\` says what is wrong with a file, \`agtpd doctor\` what a careful operator would change.

${lost.length === 0 ? "" : `## Not translated\n\n${lost.join("")}\n`}## Start

\`\`\`sh
${start}
\`\`\`

${tries.map(describeTry).join("\n")}
${whatIsWhere("recipes, those of the file that synthesis.recipes_file named")}`;
}

function whatIsWhere(recipes: string): string {
  return `## What is where

| file | what |
|---|---|
| \`${SERVER_FILE}\` | the configuration |
| \`endpoints/\` | one endpoint a \`.toml\`, handlers beside them |
| \`recipes/\` | ${recipes} |
| \`agents/\` | the agents that may ask: identity documents and Geneses |
| \`catalog/methods.json\` | the approved methods, at the version that was current |
| \`.agtp/\` | keys, certificate, state and journal: secret, backed up, never committed |

The server does not start without \`.agtp/keys/signing.pem\`. Lost, it is made anew by
\`agtp-keys signing\`; records that it signed then no longer verify by the new one, and agents that it
issued are no longer trusted.

## Before others come

1. A certificate of your own: \`[tls] cert\` and \`key\`.
2. Agents that prove who they are: \`agtp-keys agent-ca\`, \`agtp-keys agent-cert\`, then \`[tls] client_auth\`
   and \`client_ca\`, and \`[policies.identity] assurance = "certificate"\`.
3. \`[server] host\`.
4. \`agtpd doctor\`: it says what is left, each with its remedy.
`;
}

function describeTry({ command, explanation }: Try): string {
  return `${explanation}\n\n\`\`\`sh\n${command}\n\`\`\`\n`;
}

function comparing(answers: Answers, agentId: string): string {
  const [manifest] = firstCommands(answers, agentId).tries;
  const input = JSON.stringify({ left: "tea", right: "coffee" });
  return `From then on, this agent may call it, and no other:

\`\`\`sh
${manifest?.command} COMPARE /items --agent-id ${agentId} -d '${input}'
\`\`\`
`;
}

function makingAgents(): string {
  return `Endpoints are called by agents. This makes one; \`agtpd reload\` has the daemon read it:

\`\`\`sh
agtp-keys genesis --name guide --principal Operator --owner-id operator --issuer-key .agtp/keys/signing.pem --scope items:read
\`\`\`
`;
}
