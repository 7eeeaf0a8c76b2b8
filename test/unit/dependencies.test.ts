import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CHECKOUT } from "../harness/places.ts";
import { files, manifestOf } from "./imports.ts";

// The packages that the tables of docs/dependencies.md name in their first column; programs are not in backticks there, or
// are listed here.
const PROGRAMS = ["crun", "unshare", "docker-registry", "skopeo", "umoci"];

test("docs/dependencies.md names every dependency, and no other", () => {
  const [used = ""] = readFileSync(join(CHECKOUT, "docs/dependencies.md"), "utf8").split("## Written by hand");
  const cells = used.split("\n").flatMap((line) => /^\| ([^|]*) \|/.exec(line)?.[1] ?? []);
  const named = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ""));
  const folders = [".", ...files("packages/*/package.json").map((path) => path.replace("/package.json", ""))];
  const declared = folders
    .map(manifestOf)
    .flatMap((manifest) => [
      ...Object.keys(manifest.dependencies ?? {}),
      ...Object.keys(manifest.devDependencies ?? {}),
    ]);
  const expected = new Set(declared.filter((name) => !name.startsWith("@xfn/")));
  expect(named.filter((name) => !PROGRAMS.includes(name)).toSorted()).toEqual([...expected].toSorted());
});
