import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";
import { files } from "./imports.ts";

const page = readFileSync(join(CHECKOUT, "docs/contributing/architecture.md"), "utf8");

test("docs/contributing/architecture.md has a row for each package", () => {
  const rows = sectionOf("Packages").matchAll(/^\| `([\w-]+)` \|/gm);
  const packages = files("packages/*/package.json").map((path) => path.split("/")[1] ?? "");
  expect([...rows].map(([, name = ""]) => name).toSorted()).toEqual(packages.toSorted());
});

test("docs/contributing/architecture.md describes rooms of the packages", () => {
  const cells = [...sectionOf("Rooms").matchAll(/^\| (`.*?`) \|/gm)].map(([, cell = ""]) => cell);
  const sources = files("packages/*/src/**/*.ts").filter((file) => !file.endsWith(".test.ts"));
  const rooms = new Set(sources.map(roomOf));
  expect(cells.flatMap(namesIn).filter((room) => !rooms.has(room))).toEqual([]);
});

describe("each walk of docs/contributing/architecture.md", () => {
  const walks = [...sectionOf("Walks").matchAll(/^\d\. \*\*(.*?)\*\*: (.*)$/gm)];

  test("is one of five", () => {
    expect(walks).toHaveLength(5);
  });

  test.each(walks.map(([, title = "", walk = ""]) => ({ title, walk })))(
    "$title: enters each room once",
    ({ walk }) => {
      const modules = namesIn(walk).map(sourceOf);
      expect(modules.filter((file) => !existsSync(join(CHECKOUT, file)))).toEqual([]);
      const entered = roomsEntered(walk);
      expect(entered).toEqual([...new Set(entered)]);
    },
  );
});

function sectionOf(title: string): string {
  const [, section = ""] = page.split(`\n## ${title}\n`);
  return section.split("\n## ")[0] ?? "";
}

const namesIn = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);

/** `runner/host/main.ts` is `packages/runner/src/host/main.ts`. */
const sourceOf = (module: string): string => `packages/${module.replace("/", "/src/")}`;

/** The room of a source: its package and folder. Generated files are one room. */
function roomOf(file: string): string {
  const folder = dirname(file).replace(/^packages\//, "");
  return folder.replace(/\/src\b/, "").replace(/\/generated\b.*/, "/generated");
}

/**
 * The rooms of a walk in the order in which it enters them. Parentheses enclose calls, which return to their caller.
 */
function roomsEntered(walk: string): string[] {
  const entered: string[] = [];
  const callers: (string | undefined)[] = [];
  let current: string | undefined;
  for (const [, module, parenthesis] of walk.matchAll(/`([^`]+)`|([()])/g)) {
    if (parenthesis === "(") callers.push(current);
    else if (parenthesis === ")") current = callers.pop();
    else if (module !== undefined) {
      const room = roomOf(sourceOf(module));
      if (room !== current) entered.push(room);
      current = room;
    }
  }
  return entered;
}
