import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { AgentDocument } from "../../../src/identity/agent-document.ts";
import { readAgentFile } from "../../../src/identity/agent-file.ts";
import {
  chooseForm,
  createIdentityReplies,
  type IdentityForm,
} from "../../../src/modules/discovery/describe-identity.ts";
import { agentFile } from "../../support/deployment.ts";

function makeAgent(members: Readonly<Record<string, unknown>> = {}): AgentDocument {
  const text = agentFile({ agent_id: "a".repeat(64), name: "alice", ...members });
  const { document, problems } = readAgentFile(text, "alice.agent.json");
  if (document === undefined) throw new Error(JSON.stringify(problems));
  return document;
}

async function textOf(agent: AgentDocument, form: IdentityForm): Promise<string> {
  const { body } = await createIdentityReplies()(agent, form, "active");
  return Buffer.from(body as Uint8Array).toString("utf8");
}

/** A document may have any members beside its own. */
const anyMembers = fc.dictionary(
  fc.string().filter((name) => name !== "__proto__"),
  // No document with this member is loaded.
  fc
    .jsonValue({ maxDepth: 6, noUnicodeString: false })
    .filter((value) => !JSON.stringify(value).includes('"__proto__"')),
);

// AGTP "Agent Identity Document"
describe("createIdentityReplies", () => {
  it("keeps the members of the document as they were, in their order", async () => {
    const agent = makeAgent({ zeta: [1, 2.5, null, true], alpha: { "b-b": "ü", a: "日本" } });
    expect(await textOf(agent, "json")).toBe(JSON.stringify(agent.document));
    expect(Object.keys(JSON.parse(await textOf(agent, "json")))).toEqual(
      Object.keys(agent.document),
    );
  });

  it("says the same in YAML", async () => {
    await fc.assert(
      fc.asyncProperty(anyMembers, async (extra) => {
        const agent = makeAgent({ extra });
        expect(parse(await textOf(agent, "yaml"))).toEqual(agent.document);
      }),
    );
  });

  it("leaves no reader of YAML in doubt about what is a text", async () => {
    const words = [
      "no",
      "yes",
      "on",
      "null",
      "~",
      "2030-01-01",
      "1e3",
      "0x10",
      "012",
      "1:30",
      "- a",
    ];
    const agent = makeAgent({ words });
    for (const version of ["1.1", "1.2"] as const) {
      expect(parse(await textOf(agent, "yaml"), { version })).toMatchObject({ words });
    }
    expect(await textOf(agent, "yaml")).not.toMatch(/[&*]a\d/);
  });

  it("makes each form of an agent once, and the page once a status", async () => {
    const agent = makeAgent();
    const reply = createIdentityReplies();
    expect(reply(agent, "json", "active")).toBe(reply(agent, "json", "retired"));
    expect(reply(agent, "html", "active")).toBe(reply(agent, "html", "active"));
    expect(reply(agent, "html", "active")).not.toBe(reply(agent, "html", "retired"));
    expect(reply(makeAgent(), "json", "active")).not.toBe(reply(agent, "json", "active"));
  });
});

describe("the page", () => {
  it("has every member of the document, as a text", async () => {
    const page = await textOf(
      makeAgent({
        skills: [{ name: "book", level: 3 }],
        delegation_permitted: false,
        tools: [],
        manifest_issuer: null,
      }),
      "html",
    );
    for (const text of ["The test&#39;s alice.", "test.example", "Skills", "book", "Level"]) {
      expect(page).toContain(text);
    }
    expect(page).toContain("<dt>Delegation permitted</dt><dd><bdi>false</bdi></dd>");
    expect(page).toContain('<dt>Tools</dt><dd><span class="none">none</span></dd>');
    expect(page).not.toContain("Manifest issuer");
  });

  it("shows how the agent stands now, beside what the document says", async () => {
    const { body } = await createIdentityReplies()(
      makeAgent({ trust_tier: 2 }),
      "html",
      "suspended",
    );
    const page = String(body);
    expect(page).toContain('<li class="suspended">suspended</li>');
    expect(page).toContain('<li class="warning">verification-incomplete</li>');
  });

  it("lets nothing of the document be anything but text", async () => {
    const hostile = `</title></style><script>alert(1)</script><img src=x onerror="y">'&amp;`;
    const plain = await textOf(makeAgent({ name: "x", description: "x" }), "html");
    const page = await textOf(
      makeAgent({
        name: hostile,
        description: hostile,
        principal: hostile,
        [hostile]: hostile,
        skills: [hostile, { [hostile]: [hostile] }],
      }),
      "html",
    );
    expect(tagsOf(page)).toEqual(tagsOf(plain));
    expect(page).not.toMatch(/<script|<img/i);
    expect(plain).not.toMatch(/<a\b|<link|href=|src=|url\(|@import/i);
    expect(page).toContain("&lt;script&gt;");
  });

  it("is well-formed whatever the document holds", async () => {
    await fc.assert(
      fc.asyncProperty(anyMembers, fc.string({ minLength: 1 }), async (extra, description) => {
        fc.pre(description.trim() !== "");
        const page = await textOf(makeAgent({ extra, description }), "html");
        expect(unbalanced(page)).toEqual([]);
        expect(page).not.toMatch(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/);
      }),
    );
  });
});

/** The kinds of element of a page. */
function tagsOf(page: string): readonly string[] {
  const tags = [...page.matchAll(/<([a-z]+[0-9]?)\b/g)].map(([, name = ""]) => name);
  return [...new Set(tags)].filter((name) => name !== "ul" && name !== "li").toSorted();
}

const VOID = new Set(["meta"]);

/** Elements that are not closed, or closed without being open. */
function unbalanced(page: string): readonly string[] {
  const open: string[] = [];
  const faults: string[] = [];
  for (const [, slash, name = ""] of page.matchAll(/<(\/?)([a-z]+[0-9]?)\b[^>]*>/g)) {
    if (slash === "" && !VOID.has(name)) open.push(name);
    else if (slash === "/" && open.pop() !== name) faults.push(name);
  }
  return [...faults, ...open];
}

// RFC 9110 §12.5.1
describe("chooseForm", () => {
  it.each([
    [undefined, "capabilities"],
    ["", "capabilities"],
    ["*/*", "capabilities"],
    ["application/json", "capabilities"],
    ["application/vnd.agtp+json", "capabilities"],
    ["image/png", "capabilities"],
    ["application/vnd.agtp.identity+json", "json"],
    ["Application/Vnd.AGTP.Identity+JSON", "json"],
    ["application/vnd.agtp.identity+json; charset=utf-8", "json"],
    ["application/vnd.agtp.identity+yaml", "yaml"],
    ["application/yaml", "yaml"],
    ["text/html", "html"],
    ["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "html"],
    ["text/html;q=0.5, application/yaml", "yaml"],
    ["text/html;q=0.5, */*;q=0.4", "html"],
    ["text/html;q=0", "capabilities"],
    ["text/html;q=0.000, application/yaml;q=0.001", "yaml"],
    ["text/html, application/yaml", "html"],
    ["*/*, text/html", "capabilities"],
    [",,;,text/html", "html"],
  ])("reads Accept %j as %s", (accept, form) => {
    expect(chooseForm(undefined, accept, "capabilities")).toBe(form);
  });

  it.each([
    ["json", "json"],
    ["yaml", "yaml"],
    ["html", "html"],
    ["manifest", "html"],
    ["certificate", "certificate"],
    ["status", "status"],
  ])("lets format=%s say it, whatever is accepted", (format, form) => {
    expect(chooseForm(format, "text/html", "capabilities")).toBe(form);
  });

  it("gives the usual form of the method where anything will do", () => {
    expect(chooseForm(undefined, "*/*", "json")).toBe("json");
    expect(chooseForm("toString", undefined, "json")).toBe("json");
  });

  it("looks at a bounded number of ranges", () => {
    const accept = `${"image/png,".repeat(64)}text/html`;
    expect(chooseForm(undefined, accept, "json")).toBe("json");
  });
});
