import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openBrowser, openFile, overlaps, seenTexts, type WatchedPage } from "../harness/browser.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { buildExampleImages, pretendCheckout, runCommand } from "../harness/pretend-checkout.ts";
import { type Finished, Workspace } from "../harness/workspace.ts";

// The page of `xfn render --trace=html` in a real browser, without a comparison of pixels.

/** WCAG 2, level AA, for ordinary text. */
const READABLE = 4.5;

const TEMPLATES = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: stores}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XStore}
  patchSets:
  - name: region
    patches:
    - {fromFieldPath: spec.region, toFieldPath: spec.forProvider.region}
  resources:
  - name: bucket
    base: {apiVersion: s3.example.org/v1, kind: Bucket, spec: {forProvider: {acl: private}}}
    patches:
    - {type: PatchSet, patchSetName: region}
  - name: credentials
    base: {apiVersion: v1, kind: Secret, stringData: {key: hunter2-is-a-secret}}
`;

let workspace: Workspace;
let browser: Browser;
let watched: WatchedPage | undefined;

describe("the page of a trace", needs("chromium"), () => {
  beforeAll(async () => {
    workspace = await Workspace.create();
    await pretendCheckout(workspace);
    browser = await openBrowser();
  });

  afterEach(async () => {
    expect(watched?.problems ?? []).toEqual([]);
    await watched?.page.close();
    watched = undefined;
  });

  afterAll(async () => {
    await browser?.close();
    await workspace[Symbol.asyncDispose]();
  });

  async function open(name: string, options: Parameters<typeof openFile>[2] = {}): Promise<Page> {
    watched = await openFile(browser, workspace.path(name), options);
    return watched.page;
  }

  const step = (page: Page, name: string): Locator =>
    page.getByRole("navigation", { name: "Pipeline" }).getByRole("button", { name });
  const detail = (page: Page): Locator => page.getByRole("region", { name: "Step", exact: true });
  const answer = (page: Page): Locator => page.getByRole("status");

  describe("of the quickstart", needs("crun"), () => {
    let rendered: Finished;

    beforeAll(async () => {
      await buildExampleImages(workspace, "quickstart");
      const files = ["xr", "composition", "functions"].map((name) => `examples/quickstart/${name}.yaml`);
      rendered = await runCommand(workspace, `./xfn render ${files.join(" ")} --trace=html`);
    });

    test("is written without a change of stdout", () => {
      const expected = readFileSync(join(CHECKOUT, "examples/quickstart/expected.yaml"), "utf8");
      expect(rendered).toMatchObject({ code: 0, stdout: expected, stderr: "xfn: trace written to trace.html\n" });
    });

    test("shows the run and its steps", async () => {
      const page = await open("trace.html");
      expect(await page.title()).toBe("Trace of XDatabase orders");
      expect(await page.getByRole("heading", { level: 1 }).innerText()).toBe("XDatabase orders");
      const facts = await page.getByRole("list", { name: "The run" }).getByRole("listitem").allInnerTexts();
      expect(facts).toEqual(["composed by database", "3 steps", expect.stringMatching(/^[\d.]+ m?s$/), "succeeded"]);
      const pipeline = await page.getByRole("navigation", { name: "Pipeline" }).ariaSnapshot();
      expect(pipeline).toMatch(/button "Step 1, database: succeeded, [\d.]+ m?s, 13 added, 0 changed, 0 removed"/);
      expect(pipeline).toMatch(
        /button "Step 2, network-policy: succeeded, [\d.]+ m?s, 13 added, 0 changed, 0 removed"/,
      );
      expect(pipeline).toMatch(/button "Step 3, backup: succeeded, [\d.]+ m?s, 8 added, 0 changed, 0 removed"/);
    });

    test("opens a step: its image, sizes, times and changes", async () => {
      const page = await open("trace.html");
      expect(await detail(page).getByRole("heading", { level: 2 }).innerText()).toBe("Step 1: database");
      await step(page, "network-policy").click();
      const text = await detail(page).innerText();
      expect(text).toContain("Step 2: network-policy");
      expect(text).toContain("quickstart/network-policy:v1");
      for (const measure of ["in all", "start", "run", "input", "output"]) {
        expect(text).toMatch(new RegExp(`^${measure}\\s+[\\d.]+ (ms|s|B|kB)$`, "m"));
      }
      const diff = await detail(page).getByRole("listitem").allInnerTexts();
      expect(diff.map((line) => line.replaceAll(/\s+/g, " "))).toContain("+ spec.ingress[0].ports[0].port: 5432");
      expect(await step(page, "network-policy").getAttribute("aria-current")).toBe("step");
    });

    test("shows which step set a field, and marks the step", async () => {
      const page = await open("trace.html");
      const search = page.getByRole("searchbox", { name: "Find a field" });
      await search.fill("cluster instances");
      await search.press("Enter");
      expect(await answer(page).innerText()).toMatch(
        /^spec\.instances of cluster \(Cluster\)\s+3\s+Set by step 1, database\b/,
      );
      expect(await page.getByText("set this field", { exact: true }).first().isVisible()).toBe(true);
      expect(await page.getByText("set this field", { exact: true }).last().isVisible()).toBe(false);
      await search.fill("");
      await page.getByRole("button", { name: /^spec\.ingress\[0\]\.ports\[0\]\.port: 5432/ }).click();
      expect(await answer(page).innerText()).toContain("Set by step 2, network-policy");
      await answer(page).getByRole("button", { name: "Open step" }).click();
      expect(await detail(page).innerText()).toContain("Step 2: network-policy");
      await search.fill("no such field");
      expect(await page.getByText("No such field is desired.").isVisible()).toBe(true);
    });

    test("works with the keyboard alone", async () => {
      const page = await open("trace.html");
      await page.keyboard.press("Tab");
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("Enter");
      expect(await detail(page).innerText()).toContain("Step 2: network-policy");
      const search = page.getByRole("searchbox");
      await search.focus();
      await search.fill("status.host");
      await page.keyboard.press("Tab");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      expect(await answer(page).innerText()).toMatch(
        /^status\.host of XR \(XDatabase\)\s+orders-rw\.shop\.svc\s+Set by step 1, database/,
      );
    });

    test.each([
      { width: 1280, scheme: "light" as const },
      { width: 1280, scheme: "dark" as const },
      { width: 700, scheme: "light" as const },
      { width: 320, scheme: "light" as const },
      { width: 320, scheme: "dark" as const },
    ])("is legible with $width pixels, $scheme", async ({ width, scheme }) => {
      const page = await open("trace.html", { width, scheme });
      const search = page.getByRole("searchbox");
      await search.fill("storage");
      await search.press("Enter");
      const texts = await seenTexts(page);
      expect(texts.length).toBeGreaterThan(40);
      expect(texts.filter(({ left, right }) => left < 0 || right > width)).toEqual([]);
      expect(texts.filter(({ contrast }) => contrast < READABLE)).toEqual([]);
      expect(await overlaps(page)).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    });
  });

  describe("of templates", () => {
    beforeAll(async () => {
      await workspace.write("stores.yaml", TEMPLATES);
      await workspace.write(
        "store.yaml",
        "apiVersion: example.org/v1\nkind: XStore\nmetadata: {name: store}\nspec: {region: eu}\n",
      );
      await runCommand(workspace, "./xfn render store.yaml stores.yaml --trace=html --trace-file templates.html");
    });

    test("shows which patch of which template set a field, with its position", async () => {
      const page = await open("templates.html");
      await page.getByRole("button", { name: /^spec\.forProvider\.region: eu/ }).click();
      const text = await answer(page).innerText();
      expect(text).toContain("Set by step 1, templates");
      expect(text).toMatch(/template\s+bucket/);
      expect(text).toMatch(/patch\s+FromCompositeFieldPath spec\.region/);
      expect(text).toMatch(/in the Composition\s+spec\.patchSets\[0\]\.patches\[0\]/);
      await page.getByRole("button", { name: /^spec\.forProvider\.acl: private/ }).click();
      expect(await answer(page).innerText()).toMatch(/set by\s+base\s+in the Composition\s+spec\.resources\[0\]\.base/);
    });

    test("shows which step set a secret, but not its value", async () => {
      const page = await open("templates.html");
      await page.getByRole("button", { name: /^stringData\.key: \(hidden\)/ }).click();
      expect(await answer(page).innerText()).toMatch(
        /^stringData\.key of credentials \(Secret\)\s+\(hidden\)\s+Set by step 1/,
      );
      expect(await page.content()).not.toContain("hunter2");
    });

    test("a field among the changes leads to its source, and the address to the field", async () => {
      const page = await open("templates.html");
      await detail(page).getByRole("button", { name: "Who set spec.forProvider.region of bucket (Bucket)?" }).click();
      expect(await answer(page).innerText()).toMatch(/patch\s+FromCompositeFieldPath spec\.region/);
      const address = page.url();
      expect(address).toContain("#");
      await page.goto("about:blank");
      await page.goto(address);
      expect(await answer(page).innerText()).toContain("spec.forProvider.region of bucket (Bucket)");
    });

    test("badges name the patch, and identity is shown on request", async () => {
      const page = await open("templates.html");
      const row = page.getByRole("button", { name: /^spec\.forProvider\.region: eu/ });
      expect(await row.innerText()).toContain("FromCompositeFieldPath spec.region");
      const identity = page.getByRole("button", { name: /^metadata\.generateName: / });
      expect(await identity.count()).toBe(0);
      await page.getByRole("checkbox", { name: /names, labels and owners/ }).check();
      expect(await identity.count()).toBeGreaterThan(0);
    });

    test("the names of controls contain what others see, and zeros are left out", async () => {
      const page = await open("templates.html");
      for (const control of await page.locator("button[aria-label]").all())
        expect(await control.getAttribute("aria-label")).toContain(await control.innerText());
      expect(await step(page, "templates").innerText()).not.toMatch(/[~-]0/);
    });
  });

  test("hundreds of resources start closed, and open on request", async () => {
    const entries = Array.from(
      { length: 300 },
      (_, index) => `  - {name: r${index}, base: {apiVersion: v1, kind: ConfigMap, data: {key: value}}}\n`,
    );
    const head = TEMPLATES.slice(0, TEMPLATES.indexOf("  resources:"));
    await workspace.write("many.yaml", `${head.replace(/ {2}patchSets:[^]*/, "")}  resources:\n${entries.join("")}`);
    await workspace.write(
      "one.yaml",
      "apiVersion: example.org/v1\nkind: XStore\nmetadata: {name: store}\nspec: {region: eu}\n",
    );
    const { code, stderr } = await runCommand(workspace, "./xfn render one.yaml many.yaml --trace-file many.html");
    expect(code, stderr).toBe(0);
    const page = await open("many.html");
    expect(await page.locator("#step details[open], #fields details[open]").count()).toBe(0);
    expect(await page.locator("#step li.added").count()).toBe(0);
    await page.locator("#step summary").first().click();
    await page.locator("#step li.added").first().waitFor();
  });
});
