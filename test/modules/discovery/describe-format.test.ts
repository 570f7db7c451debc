import { describe, expect, it } from "vitest";
import { chooseForm } from "../../../src/modules/discovery/describe-identity.ts";

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
