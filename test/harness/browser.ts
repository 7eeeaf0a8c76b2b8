import { type Browser, chromium, type Page } from "playwright-core";
import { browserProgram } from "./which.ts";

/** Opens a browser without network and without a profile. The test needs `needs("chromium")`. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = browserProgram();
  if (executablePath === undefined) throw new Error("chromium is not installed");
  return await chromium.launch({
    executablePath,
    // Containers and root cannot create the namespaces of Chromium's sandbox, and the pages are trusted. /dev/shm is
    // often tiny.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND"],
  });
}

/** A page with its errors and its network requests. */
export interface WatchedPage {
  page: Page;
  problems: string[];
}

/** Opens a file in a browser window of a size. */
export async function openFile(
  browser: Browser,
  path: string,
  options: { width?: number; height?: number; scheme?: "light" | "dark" } = {},
): Promise<WatchedPage> {
  const { width = 1280, height = 900, scheme = "light" } = options;
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme, offline: true });
  const problems: string[] = [];
  const url = `file://${path}`;
  page.on("console", (message) => problems.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (request.url() !== url) problems.push(`request: ${request.url()}`);
  });
  await page.goto(url);
  return { page, problems };
}

/** A visible text. */
export interface SeenText {
  text: string;
  left: number;
  right: number;
  /** Contrast ratio of text and background (WCAG 2). */
  contrast: number;
}

/** Returns the visible texts of a page with their positions and contrast. */
export async function seenTexts(page: Page): Promise<SeenText[]> {
  return await page.evaluate<SeenText[]>(SEEN_TEXTS);
}

// Runs in the browser, whose types are not available to tests.
const SEEN_TEXTS = `(() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number);
  const luminance = (color) => {
    const [r, g, b] = channels(color).slice(0, 3).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      const alpha = channels(color)[3] ?? 1;
      if (alpha === 1) return color;
    }
    return "rgb(255, 255, 255)";
  };
  const seen = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.data.trim() === "" || !element.checkVisibility({ visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const { left, right, width, height } = range.getBoundingClientRect();
    if (width === 0 || height === 0) continue;
    const [a, b] = [luminance(getComputedStyle(element).color), luminance(behind(element))];
    seen.push({ text: node.data.trim(), left, right, contrast: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) });
  }
  return seen;
})()`;

/** Returns the pairs of visible buttons and fields that overlap. */
export async function overlaps(page: Page): Promise<string[]> {
  return await page.evaluate<string[]>(`(() => {
    const all = [...document.querySelectorAll("button, input, summary")].filter((element) => element.checkVisibility({ visibilityProperty: true }));
    const boxes = all.map((element) => ({ name: element.textContent.trim() || element.id, box: element.getBoundingClientRect() }));
    return boxes.flatMap((a, index) => boxes.slice(index + 1).flatMap((b) => {
      const x = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
      const y = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
      return x > 1 && y > 1 ? [a.name + " / " + b.name] : [];
    }));
  })()`);
}
