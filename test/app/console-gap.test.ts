/** Chains with gaps where the records are in a database: the console shows both sides of each. */
import { expect, it } from "vitest";
import { ALMA, approvingFiles } from "../support/approving.ts";
import { CONSOLE, openConsole } from "../support/console.ts";
import { look } from "../support/console-house.ts";
import { describeWithPostgres, postgres } from "../support/postgres.ts";

describeWithPostgres("a chain in PostgreSQL", () => {
  it("is listed behind its gaps, the head among them", async () => {
    const url = await postgres().makeDatabase();
    const store = { driver: "postgres", url };
    const files = await approvingFiles([], { ...CONSOLE, store });
    const writer = await openConsole(files);
    for (const room of ["1", "2", "3", "4", "5"]) await look(writer, room);
    // A node that has acknowledged a record ends when the store lacks it.
    await writer.close();
    const house = await openConsole(files);
    const visitor = await house.signIn({ role: "viewer" });
    const page = async (query = "") => (await visitor.get(`/api/records/${ALMA}${query}`)).body;
    const { records } = await page();
    const [head, second, third] = records.map((one: { audit_id: string }) => one.audit_id);
    await postgres().query(
      `DELETE FROM agtp.records WHERE audit_id IN ('${head}', '${third}')`,
      url,
    );
    expect(await page()).toMatchObject({ records: [], broken: { audit_id: head, behind: "head" } });
    expect(await page("?behind=head")).toMatchObject({
      records: [records[1]],
      broken: { audit_id: third, behind: second },
    });
    expect(await page(`?behind=${second}`)).toMatchObject({
      records: records.slice(3),
      next: null,
    });
    expect((await visitor.get(`/api/records/${ALMA}?behind=x`)).status).toBe(422);
  });
});
