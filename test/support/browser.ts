/**
 * Chromium from the system, for tests of the console as a person uses it. Where there is none these
 * tests are skipped, and said to be; under continuous integration that is a failure.
 */
import { EventEmitter, once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import {
  type Browser,
  type BrowserContext,
  chromium,
  type Page,
  type Route,
} from "playwright-core";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { isProgram } from "./processes.ts";

/** On the path; the first has no windows, and takes half of the other's time. */
const PROGRAMS: readonly string[] = ["chromium-headless-shell", "chromium"];

/** The browser's program: the variable CHROMIUM, else one on the path. */
const CHROMIUM: string | undefined = findChromium();

const FLAGS = [
  ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
];
/** As tests wait for events, only the test's own time ends a wait. */
const NO_TIMEOUT = 0;

/** One for all files of a worker, with a fresh profile for each page; it ends as the worker does. */
let browser: Promise<Browser> | undefined;

/** A suite that needs the browser. */
export function describeInBrowser(name: string, suite: () => void): void {
  if (CHROMIUM !== undefined) {
    describe(name, () => {
      beforeAll(launch);
      suite();
    });
    return;
  }
  console.warn(`\nNOT RUN, there is no chromium (set CHROMIUM to its path): ${name}\n`);
  if (process.env["CI"] === "true") {
    it(`${name}: has a browser`, () => expect(CHROMIUM, "chromium on the path").toBeDefined());
  } else describe.skip(name, suite);
}

/** A page of a fresh profile; a fault or a refused resource on it fails the test. */
export async function openPage(
  options: Parameters<Browser["newContext"]>[0] = {},
): Promise<Page & { readonly faults: readonly string[] }> {
  const context = await (await launch()).newContext(options);
  onTestFinished(() => context.close());
  context.setDefaultTimeout(NO_TIMEOUT);
  return Object.assign(await context.newPage(), { faults: watch(context) });
}

/** Presses the button of a link, and waits for the first page. */
export async function signIn(page: Page, link: string): Promise<void> {
  await page.goto(link);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
}

/** Follows a link of the console to one of its pages, and waits until that is there. */
export async function goWithin(page: Page, path: string): Promise<void> {
  await page.evaluate(`{
    document.activeElement?.blur();
    const link = document.createElement("a");
    link.href = ${JSON.stringify(path)};
    document.body.append(link);
    link.click();
    link.remove();
  }`);
  // The heading gets the focus once the page is another.
  await page.locator("h1:focus").waitFor();
  await page.getByText("Loading…").first().waitFor({ state: "detached" });
}

/** Keeps requests to an address waiting, until what is answered is called. */
export async function holdBack(page: Page, address: string): Promise<() => void> {
  const gate = new EventEmitter();
  const opened = once(gate, "open");
  await page.route(address, async (route) => {
    await opened;
    await route.continue();
  });
  return () => void gate.emit("open");
}

/** Fails requests to an address, until what is answered is called. */
export async function failRequests(
  page: Page,
  address: string | RegExp,
): Promise<() => Promise<void>> {
  const abort = (route: Route): Promise<void> => route.abort();
  await page.route(address, abort);
  return () => page.unroute(address, abort);
}

/** Rules of accessibility that a page breaks, each with the first element that does. */
export async function accessibilityFaults(page: Page): Promise<readonly string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) {
    const path = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
    await page.evaluate(readFileSync(path, "utf8"));
  }
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<AxeReport> } };
    const { violations } = await axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
  });
}

interface AxeReport {
  readonly violations: readonly { readonly id: string; readonly nodes: { html: string }[] }[];
}

/** What goes wrong on the pages of a context, as it does. */
function watch(context: BrowserContext): readonly string[] {
  const faults: string[] = [];
  context.on("weberror", (error) => faults.push(String(error.error())));
  context.on("console", (message) => {
    if (message.type() === "error") faults.push(`${message.text()} ${message.location().url}`);
  });
  return faults;
}

function launch(): Promise<Browser> {
  browser ??= start();
  return browser;
}

async function start(): Promise<Browser> {
  // An orderly close takes longer than a worker has once it is asked to end.
  process.once("SIGTERM", () => process.exit());
  return chromium.launch({
    ...{ executablePath: CHROMIUM ?? "", args: FLAGS, timeout: 0 },
    handleSIGTERM: false,
  });
}

function findChromium(): string | undefined {
  const named = process.env["CHROMIUM"];
  if (named !== undefined && named !== "") return named;
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return PROGRAMS.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
}
