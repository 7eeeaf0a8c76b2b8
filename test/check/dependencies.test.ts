import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";
import { files, manifestOf } from "./imports.ts";

// Programs in backquotes in the first column of the tables, where all other names in backquotes are npm packages.
const PROGRAMS = ["crun", "unshare", "docker-registry", "skopeo", "umoci"];

test("docs/contributing/dependencies.md lists exactly the declared dependencies", () => {
  const [used = ""] = readFileSync(join(CHECKOUT, "docs/contributing/dependencies.md"), "utf8").split(
    "## Written by hand",
  );
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

interface LockEntry {
  link?: boolean;
  integrity?: string;
  optional?: boolean;
  dev?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
}

test.each(files("{,scripts/node/*/}package-lock.json"))("%s pins the content of what is installed", (path) => {
  const lock = JSON.parse(readFileSync(join(CHECKOUT, path), "utf8")) as { packages: Record<string, LockEntry> };
  // Builds of development tools for other systems, which some registries do not serve: see scripts/lock-file.ts.
  const isElsewhere = ({ os = [], cpu = [], libc = [] }: LockEntry): boolean =>
    !os.includes("linux") || !cpu.some((name) => ["x64", "arm64"].includes(name)) || libc.includes("musl");
  const unpinned = Object.entries(lock.packages).filter(
    ([name, entry]) =>
      name.includes("node_modules/") &&
      entry.link !== true &&
      entry.integrity === undefined &&
      !(entry.optional === true && entry.dev === true && isElsewhere(entry)),
  );
  expect(unpinned.map(([name]) => name)).toEqual([]);
});
