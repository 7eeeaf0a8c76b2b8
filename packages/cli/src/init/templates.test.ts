import { existsSync, globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { TEMPLATES, TOOLS } from "./templates.ts";

const FOLDER = new URL("../../templates/", import.meta.url);

test("each file of each template exists, and each file belongs to a template", () => {
  const named = new Set(Object.values(TEMPLATES).flatMap(({ files }) => Object.keys(files)));
  expect([...named].filter((file) => !existsSync(new URL(file, FOLDER)))).toEqual([]);
  // `xfn xpkg init` copies its folders whole.
  const present = globSync("*/**/*.*", { cwd: FOLDER }).concat(globSync("*/{gitignore,npmrc}", { cwd: FOLDER }));
  expect([...new Set(present)].filter((file) => !named.has(file) && !file.startsWith("xpkg/"))).toEqual([]);
});

test("projects use the versions of tools that this repository uses", () => {
  const root = JSON.parse(readFileSync(new URL("../../../../package.json", import.meta.url), "utf8"));
  const versions = { ...root.dependencies, ...root.devDependencies };
  for (const [name, range] of Object.entries(TOOLS)) expect(range).toBe(`^${versions[name]}`);
});
