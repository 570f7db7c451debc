/** A chain of twenty-five thousand records: verified in the browser, and scrolled from end to end. */
import { generateKeyPairSync } from "node:crypto";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { ALMA } from "../support/approving.ts";
import { describeInBrowser, openPage, signIn } from "../support/browser.ts";
import { consoleOf } from "../support/console.ts";
import { houseFiles } from "../support/console-house.ts";
import { serve } from "../support/daemon.ts";
import { makeDeployment } from "../support/deployment.ts";
import { writeLongChain } from "../support/long-chain.ts";

const COUNT = 25_000;
/** A list of ten times the rows may take so many times the work for a frame. */
const MOST_TIMES = 2.5;
/** Rows that may be in the page at a time, whatever the list has. */
const MAX_ROWS = 80;

describeInBrowser("a chain of twenty-five thousand records", () => {
  it("is verified with its progress, and scrolled with no more work for a frame than a short one", async () => {
    const { privateKey } = generateKeyPairSync("ed25519");
    const deployment = makeDeployment(await houseFiles(privateKey));
    writeLongChain(deployment.directory, { agentId: ALMA, key: privateKey, count: COUNT });
    const daemon = await serve(deployment);
    const house = consoleOf(daemon);
    const page = await openPage({ viewport: { width: 1280, height: 900 } });
    await signIn(page, await house.link());
    await page.goto(`${house.origin}/records/${ALMA}`);
    const list = page.getByRole("table", { name: "Records" });
    await list.waitFor();
    const few = await framesOf(page, ".list-body");
    expect(Number(await list.getAttribute("aria-rowcount"))).toBeLessThan(COUNT / 5);
    await page.getByRole("button", { name: "Pin key" }).click();
    const startedAt = performance.now();
    await page.getByRole("button", { name: "Verify chain" }).click();
    await page.getByText(/^Checked [1-9]/).waitFor();
    await page.getByText(/^Chain (?:verified|broken)/).waitFor();
    const seconds = (performance.now() - startedAt) / 1000;
    await page.getByText(`Chain verified: ${COUNT} records`).waitFor();
    // What was walked is in the list, and no more of it in the page than before.
    expect(await list.getAttribute("aria-rowcount")).toBe(String(COUNT + 1));
    const scrolled = await framesOf(page, ".list-body");
    await page.getByText("/free/0", { exact: true }).waitFor();
    expect(scrolled.mostRows).toBeLessThan(MAX_ROWS);
    console.info(
      `${COUNT} records: verified in ${seconds.toFixed(1)} s; ${scrolled.perSecond.toFixed(1)} frames ` +
        `a second, ${scrolled.workMs.toFixed(1)} ms of processor time each`,
    );
    // A frame is as much work as in the list that the page began with, however long this one is.
    expect(scrolled.workMs / few.workMs).toBeLessThan(MOST_TIMES);
    expect(page.faults).toEqual([]);
  }, 600_000);
});

interface Scrolled {
  readonly perSecond: number;
  readonly mostRows: number;
  /** Of the page's thread for a frame, in milliseconds. */
  readonly workMs: number;
}

/** Scrolls through the list and to its bottom, a step a frame, each to rows that were not shown. */
async function framesOf(page: Page, selector: string): Promise<Scrolled> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const work = async (): Promise<number> => {
    const { metrics } = await session.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN;
  };
  const before = await work();
  const frames = `(${SCROLL})(${JSON.stringify(selector)}, ${STEPS}, ${STEP_PX})`;
  const scrolled = await page.evaluate<Omit<Scrolled, "workMs">>(frames);
  return { ...scrolled, workMs: ((await work()) - before) * (1000 / STEPS) };
}

const STEPS = 150;
/** Beyond what is in view. */
const STEP_PX = 7_919;

const SCROLL = `async (selector, steps, stepPx) => {
  const box = document.querySelector(selector);
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  let mostRows = 0;
  box.scrollTop = 0;
  const began = await frame();
  let ended = began;
  for (let step = 1; step <= steps; step += 1) {
    box.scrollTop = step < steps ? (step * stepPx) % box.scrollHeight : box.scrollHeight;
    ended = await frame();
    mostRows = Math.max(mostRows, box.querySelectorAll("[role=row]").length);
  }
  return { perSecond: (steps * 1000) / (ended - began), mostRows };
}`;
