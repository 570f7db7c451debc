/** `agtp --cert`: the agent is the one that the certificate is for. */
import { describe, expect, it } from "vitest";
import { makeDirectory } from "../../support/directory.ts";
import { runText } from "../../support/doc-page.ts";

const PAGE = `
\`\`\`sh
agtpd init shop --yes
cd shop
agtp-keys agent-ca
agtp-keys agent-cert --ca-cert .agtp/keys/agents-ca.pem --ca-key .agtp/keys/agents-ca-key.pem --genesis agents/guide.genesis.json
sed -i.bak -e 's|^# client_auth = .*|client_auth = "optional"|' -e 's|^# client_ca = .*|client_ca = ".agtp/keys/agents-ca.pem"|' -e 's|^assurance = .*|assurance = "certificate"|' agtp-server.toml
\`\`\`
\`\`\`daemon
agtpd
\`\`\`
\`\`\`refused
agtp agtp://localhost QUERY /items/tea
\`\`\`
\`\`\`sh
agtp agtp://localhost QUERY /items/tea --cert .agtp/keys/guide.cert.pem --key .agtp/keys/guide.key.pem
\`\`\`
`;

describe("agtp --cert", () => {
  it("needs no --agent-id", async () => {
    const { outputs } = await runText(PAGE, { directory: makeDirectory() });
    expect(outputs.at(-1)).toContain('"item_id":"tea"');
  });
});
